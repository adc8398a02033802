"""Remarks on a directory's configuration: sentences for a person. They hold untrusted text, which a door escapes."""

from collections.abc import Iterator, Sequence
from typing import Final

from activities.model.providers import check_model
from worker import credential_handoff
from worker.project_config import default_models, effective_model
from worker.settings import Settings
from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.config.merge import is_local
from workflows.domain.config.references import has_reference
from workflows.domain.config.turn_config import IgnoredFiles, TurnConfig
from workflows.domain.context.truncate import head_and_end
from workflows.domain.description_limits import MAX_DESCRIPTION_CHARS, MAX_LISTED_CHARS, split_listed
from workflows.domain.errors import UsageError
from workflows.domain.skills import Skill, described_skills

_LONGEST: Final = 300  # characters of a name, a path or a reason
_WITHOUT_EFFECT: Final = (  # of OpenCode's variables
    "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS",
    "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX",
)
_MOST: Final = 20  # refused files that are named


def find_config_remarks(settings: Settings, turn_config: TurnConfig) -> Iterator[str]:
    """What has no effect, and why. Raises UsageError if the file of handed-over keys is damaged."""
    yield from _ignored_fields(turn_config)
    yield from find_other_remarks(settings, turn_config)


def _ignored_fields(turn_config: TurnConfig) -> Iterator[str]:
    for held in turn_config.untrusted_fields:
        where = f"{on_one_line(held.field)} of {on_one_line(held.file)}"
        yield f"Ignored: {where}: {on_one_line(held.why)}."
    of_project = [on_one_line(each.field) for each in turn_config.held if is_local(each.file)]
    published = [on_one_line(each.field) for each in turn_config.held if not is_local(each.file)]
    if of_project:
        yield f"Not there until a person accepts it (`holdfast trust`): {_few(of_project)} of the project's files."
    if published:
        yield f"Ignored: {_few(published)}: what an organisation publishes starts and redirects nothing."
    if turn_config.accepted is not None and turn_config.accepted.rules_changed:
        yield (
            "The project's rules, or those of your own files, have changed since they were accepted: the stricter of "
            "both decides until `holdfast trust`."
        )
    for field in turn_config.unsupported_fields:
        yield f"Ignored (not supported yet): {on_one_line(field.field)} of {on_one_line(field.file)}."


def _few(names: list[str]) -> str:
    return f"{', '.join(names[:_MOST])}{f' and {len(names) - _MOST} more' if len(names) > _MOST else ''}"


def find_other_remarks(settings: Settings, turn_config: TurnConfig) -> Iterator[str]:
    """All remarks except those on single fields of files. Raises UsageError like `find_config_remarks`."""
    for files in turn_config.ignored:
        yield from _describe_ignored_files(files)
    yield from _refused_agents(turn_config)
    for warning in turn_config.warnings:
        yield f"Warning: {warning}"
    if idle := [name for name in _WITHOUT_EFFECT if settings.environment.get(name)]:
        yield f"Warning: {' and '.join(idle)} of OpenCode: without effect."
    yield from _unlisted(turn_config)
    yield from _unusable_subagents(turn_config)
    yield from _model_families(settings, turn_config)
    if lacking := credential_handoff.missing_references(settings, turn_config.config):
        named = ", ".join(on_one_line(each) for each in lacking)
        yield (
            f"Warning: the worker lacks what the configuration refers to: {named}. Variables that are set in the shell "
            "of `holdfast run` are handed over."
        )


def _refused_agents(turn_config: TurnConfig) -> Iterator[str]:
    refused = turn_config.refused_agents
    for each in refused[:_MOST]:
        names = " or ".join(repr(on_one_line(name)) for name in dict.fromkeys(each.names))
        yield f"Refused: {each.why} (There is no agent {names} until it is mended.)"
    if len(refused) > _MOST:
        more = len(refused) - _MOST
        yield f"Refused: {more:,} more file{'' if more == 1 else 's'} of agents: `holdfast agents` lists them."


def _unlisted(turn_config: TurnConfig) -> Iterator[str]:
    """Their descriptions are in every request, so long ones are cut or left out."""
    agents = turn_config.delegation.offered_agents(turn_config.rules)
    skills = described_skills(turn_config.skills, turn_config.rules)
    if long := [each for each in agents if len(each.description or "") > MAX_DESCRIPTION_CHARS]:
        limit = f"only the first {MAX_DESCRIPTION_CHARS:,} characters of these subagents' descriptions"
        yield f"Warning: models see {limit}: {_names(long)}."
    for kind, others in (("subagents", split_listed(agents)[1]), ("skills", split_listed(skills)[1])):
        if others:
            limit = (
                f"all descriptions together have more than {MAX_LISTED_CHARS:,} characters, and theirs are the longest"
            )
            yield f"Warning: no model sees these {kind}, as {limit}: {_names(others)}."


def _names(listed: Sequence[Agent] | Sequence[Skill]) -> str:
    return _few([on_one_line(each.name) for each in listed])


def _unusable_subagents(turn_config: TurnConfig) -> Iterator[str]:
    """A remark, not an error: the task may not need them."""
    for agent in turn_config.delegation.agents:
        if agent.model is None or agent.model_family or has_reference(agent.model) or agent.mode is AgentMode.PRIMARY:
            continue
        try:
            check_model(agent.model, turn_config.config)
        except UsageError as error:
            yield f"Warning: the subagent {on_one_line(agent.name)} cannot work: {error}"


def _model_families(settings: Settings, turn_config: TurnConfig) -> Iterator[str]:
    """Which model each family means that agents name; a session's provider comes first."""
    named: dict[str, list[Agent]] = {}
    for agent in turn_config.delegation.agents:
        if agent.model_family is not None:
            named.setdefault(agent.model_family, []).append(agent)
    if not named:
        return
    models, near = default_models(settings), effective_model(turn_config, None)
    found = {family: models.newest(family, turn_config.config, near) for family in named}
    if known := [f"{family} is {on_one_line(model)}" for family, model in sorted(found.items()) if model]:
        yield f"Models of agents: {', '.join(known)}, or the newest that the session's own provider has."
    for family in sorted(family for family, model in found.items() if model is None):
        agents = _names(named[family])
        yield f"Warning: no model of the family {family!r} can be asked: that of the session works for {agents}."


def _describe_ignored_files(files: IgnoredFiles) -> Iterator[str]:
    folder, unnamed = on_one_line(files.folder), files.count - len(files.names)
    names = ", ".join([*map(on_one_line, files.names), *([f"and {unnamed} more"] if unnamed else [])])
    found = f"{files.count:,} {files.kind}{'' if files.count == 1 else 's'}"
    yield f"Ignored (not supported yet): {found} in {folder}: {names}."


def on_one_line(text: str) -> str:
    """Text of a file or a shell as a part of a remark: on one line, without its middle where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else " … ".join(head_and_end(flat, _LONGEST - 3))
