"""Remarks on a directory's configuration."""

from collections.abc import Iterator, Sequence
from typing import Final

from activities.model.model_table import TABLE_ADDRESS
from activities.model.providers import check_model
from worker import credential_handoff
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import pluralize
from worker.project_config import default_models, effective_model
from worker.settings import Settings
from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.config.merge import is_local
from workflows.domain.config.references import has_reference
from workflows.domain.config.turn_config import IgnoredFiles, TurnConfig
from workflows.domain.description_limits import MAX_DESCRIPTION_CHARS, MAX_LISTED_CHARS, split_listed
from workflows.domain.errors import UsageError
from workflows.domain.skills import Skill, described_skills

_LONGEST: Final = 300  # characters of a path or a reason
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
        where = f"{one_line(held.field)} of {one_line(held.file, _LONGEST)}"
        yield f"Ignored: {where}: {one_line(held.why, _LONGEST)}."
    of_project = [one_line(each.field) for each in turn_config.held if is_local(each.file)]
    published = [one_line(each.field) for each in turn_config.held if not is_local(each.file)]
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
        yield f"Ignored (not supported yet): {one_line(field.field)} of {one_line(field.file, _LONGEST)}."


def _few(names: list[str]) -> str:
    return f"{', '.join(names[:_MOST])}{f' and {len(names) - _MOST} more' if len(names) > _MOST else ''}"


def find_other_remarks(settings: Settings, turn_config: TurnConfig) -> Iterator[str]:
    """All remarks except those on single fields of files. Raises UsageError like `find_config_remarks`."""
    for files in turn_config.ignored:
        yield from _describe_ignored_files(files)
    yield from _refused_agents(turn_config)
    for warning in turn_config.warnings:
        yield f"Warning: {escape_prose(warning)}"
    if idle := [name for name in _WITHOUT_EFFECT if settings.environment.get(name)]:
        yield f"Warning: {' and '.join(idle)} of OpenCode: without effect."
    yield from _unlisted(turn_config)
    yield from _unusable_subagents(turn_config)
    yield from _model_families(settings, turn_config)
    if lacking := credential_handoff.missing_references(settings, turn_config.config):
        named = ", ".join(one_line(each, _LONGEST) for each in lacking)
        yield (
            f"Warning: the worker lacks what the configuration refers to: {named}. Variables that are set in the shell "
            "of `holdfast run` are handed over."
        )


def _refused_agents(turn_config: TurnConfig) -> Iterator[str]:
    refused = turn_config.refused_agents
    for each in refused[:_MOST]:
        names = " or ".join(repr(one_line(name)) for name in dict.fromkeys(each.names))
        yield f"Refused: {escape_prose(each.why)} (There is no agent {names} until it is mended.)"
    if len(refused) > _MOST:
        yield f"Refused: {pluralize(len(refused) - _MOST, 'more file')} of agents: `holdfast agents` lists them."


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
    more = f" and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return ", ".join(one_line(each.name) for each in listed[:_MOST]) + more


def _unusable_subagents(turn_config: TurnConfig) -> Iterator[str]:
    """A remark, not an error: the task may not need them."""
    for agent in turn_config.delegation.agents:
        if agent.model is None or agent.model_family or has_reference(agent.model) or agent.mode is AgentMode.PRIMARY:
            continue
        try:
            check_model(agent.model, turn_config.config)
        except UsageError as error:
            yield f"Warning: the subagent {one_line(agent.name)} cannot work: {escape_prose(str(error))}"


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
    if known := [f"{family} is {escape_exact(model)}" for family, model in sorted(found.items()) if model]:
        yield f"Models of agents: {', '.join(known)}, or the newest that the session's own provider has."
    for family in sorted(family for family, model in found.items() if model is None):
        agents = _names(named[family])
        yield f"Warning: no model of the family {family!r} can be asked: that of the session works for {agents}."


def _describe_ignored_files(files: IgnoredFiles) -> Iterator[str]:
    folder, unnamed = one_line(files.folder, _LONGEST), files.count - len(files.names)
    names = ", ".join([*map(one_line, files.names), *([f"and {unnamed} more"] if unnamed else [])])
    yield f"Ignored (not supported yet): {pluralize(files.count, files.kind)} in {folder}: {names}."


def choose_model(
    settings: Settings, turn_config: TurnConfig, named: str | None, of_last_turn: str | None = None
) -> str:
    """`named` comes from a flag or the session. Raises UsageError without a usable model."""
    model = effective_model(turn_config, named) or of_last_turn
    if model is None:
        from worker.cli import model_choices  # start-up time: the tables of models

        model = model_choices.default_model(settings, turn_config.config, turn_config.agent.model_family)
    return model


def report_unknown_model(settings: Settings, turn_config: TurnConfig, model: str) -> None:
    """Say that no table has the model, and of which one it gets what is not known: it may be newer."""
    from worker.cli import model_choices  # as above

    if (match := model_choices.match_model(settings, turn_config.config, model)).unknown:
        like = f", and is taken for {escape_exact(match.alike)}" if match.alike else ""
        fetch = "--refresh" if settings.models_url else f"--refresh={TABLE_ADDRESS}"
        print_note(
            f"{escape_exact(model)} is not in the table of models{like}: `holdfast models {fetch}` fetches a newer one."
        )


def warn_of_unknown_model(settings: Settings, turn_config: TurnConfig, model: str) -> None:
    """Warn of a model that no table knows, and of what may have been meant."""
    from worker.cli import model_choices  # as above

    if (meant := model_choices.meant_model(settings, turn_config.config, model)) is not None:
        print_note(f"Warning: {escape_prose(describe_misspelt(model, meant))}")
    else:
        report_unknown_model(settings, turn_config, model)


def describe_misspelt(model: str, meant: str) -> str:
    return f"{model!r} is not in the table of models. Did you mean {meant!r}?"
