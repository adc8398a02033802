"""Reads and judges everything that a directory determines: the turn configuration."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from activities.files.workspace import Workspace
from activities.project.checked_config import CheckedConfig, check_trust
from activities.project.config_files import read_layers
from activities.project.config_origins import ConfigOrigins
from activities.project.config_rules import configured_rules, rules_of
from activities.project.file_positions import FilePositions
from activities.project.instructions import MAX_INSTRUCTION_BYTES, project_names
from activities.project.organisations import read_organisations
from activities.project.remote_instructions import read_remote_instructions
from activities.project.skill_files import find_skills, skill_rules
from activities.project.unsupported import ignored_files
from activities.web.remote_copies import RemoteSource
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD, HIDDEN, RESERVED
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.agent_selection import check_readable, default_agent, select_agent, visible_names
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import JsonObject, unknown_fields, unsupported_fields, value_at
from workflows.domain.config.loosening import loosens
from workflows.domain.config.merge import ConfigLayer, deep_merge, merge_files
from workflows.domain.config.references import unresolved_references
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import Instruction, TurnConfig, UnsupportedField
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions import rules
from workflows.domain.permissions.permission_keys import WEBFETCH
from workflows.domain.permissions.rules import Action, Rule, Ruleset, evaluate

if TYPE_CHECKING:
    from activities.project.config_values import MergedConfig


@dataclass(frozen=True)
class Role:
    """A session's agent (None: the default one), its own rules, and the number of sessions above it."""

    agent: str | None = None
    rules: Ruleset = ()
    ancestors: int = 0


PRIMARY_ROLE: Final = Role()
FindAccepted: TypeAlias = Callable[[str, str], Awaitable[AcceptedTrust | None]]  # of a work tree, by its digest


@dataclass(frozen=True)
class LoadedConfig:
    """`wanted`: what it names on the net. It holds the copies that are there."""

    turn_config: TurnConfig
    wanted: tuple[RemoteSource, ...]


async def load_turn_config(
    workspace: Workspace,
    sources: ConfigSources,
    managed: Path,
    role: Role = PRIMARY_ROLE,
    find_accepted: FindAccepted | None = None,
) -> LoadedConfig:
    """`managed`: the administrator's configuration folder. `find_accepted`: what a person has accepted of the project's
    files; without, nothing is. Raises ConfigError, UnknownAgent."""
    checked = await read_checked(workspace, sources, managed)
    return await asyncio.to_thread(_load_turn_config, checked, role, await _accepted(checked, find_accepted))


async def read_checked(workspace: Workspace, sources: ConfigSources, managed: Path) -> CheckedConfig:
    """Raises ConfigError."""
    return await asyncio.to_thread(lambda: check_trust(read_layers(workspace, sources, managed), workspace, sources))


async def _accepted(checked: CheckedConfig, find_accepted: FindAccepted | None) -> AcceptedTrust | None:
    if find_accepted is None or not checked.may_be_accepted:
        return None
    return await find_accepted(str(checked.workspace.root), checked.content.digest)


async def load_origins(workspace: Workspace, sources: ConfigSources, managed: Path) -> ConfigOrigins:
    """Raises ConfigError."""
    layers = await asyncio.to_thread(read_layers, workspace, sources, managed)
    files = tuple((layer.file, Config.model_validate(layer.tree)) for layer in layers)
    return ConfigOrigins(files, str(workspace.home))


async def load_merged(
    workspace: Workspace, sources: ConfigSources, managed: Path, find_accepted: FindAccepted | None = None
) -> "MergedConfig":
    """Raises ConfigError."""
    checked = await read_checked(workspace, sources, managed)
    return await asyncio.to_thread(_load_merged, checked, await _accepted(checked, find_accepted))


def _load_merged(checked: CheckedConfig, accepted: AcceptedTrust | None) -> "MergedConfig":
    from activities.project.config_values import MergedConfig  # for one command

    checked = checked if accepted is None else checked.with_trust()
    held = tuple(item.untrusted for item in checked.held_items)
    return MergedConfig(checked.settings, tuple(zip(checked.files, checked.layers, strict=True)), held)


def _load_turn_config(checked: CheckedConfig, role: Role, accepted: AcceptedTrust | None) -> LoadedConfig:
    checked = checked if accepted is None else checked.with_trust()
    workspace, sources, files, settings = checked.workspace, checked.sources, checked.files, checked.settings
    refused = tuple(layer.refused for layer in files if layer.refused is not None)
    default = checked.own_default if checked.default_is_held else settings.default_agent or BUILD.name
    check_readable(role.agent or default, refused, checked.known)
    agent = _subagent(role, checked.known) if role.ancestors else _primary(role, checked)
    managed_config = Config.model_validate(merge_files(layer.tree for layer in files if layer.managed))
    managed_model = managed_config.agent.get(agent.name, AgentSettings()).model or managed_config.model
    ceiling = configured_rules(agent.name, managed_config, workspace)
    fetchable = partial(may_fetch, rules.apply_ceiling(ceiling, rules_of(agent.name, settings, workspace)))
    instructions = checked.instructions.instructions
    remote = read_remote_instructions(workspace.data, checked.counting_layers, fetchable)
    found = find_skills(workspace, checked.counting_layers, sources, fetchable)
    organisations = read_organisations(workspace)
    ignored, scan_warnings = ignored_files(workspace, sources)
    limited_rules = rules.apply_ceiling(
        ceiling, _agent_rules(agent.name, checked, skill_rules(found.skills.values(), workspace))
    )
    turn_config = TurnConfig(
        directory=str(workspace.directory),
        worktree=str(workspace.worktree) if workspace.worktree else None,
        home=str(workspace.home),
        config=_without_prompts(settings),
        model_is_managed=managed_model is not None,
        rules=(*limited_rules, *role.rules),
        agent=agent.model_copy(update={"model": managed_model}) if managed_model else agent,
        delegation=Delegation(
            agents=tuple(map(_without_prompt, checked.known.values())),
            ancestors=role.ancestors,
            limit=settings.subagent_depth,
        ),
        instructions=(*instructions, *remote.instructions),
        instruction_names=project_names(sources),
        skills=found.sorted(),
        accepted=accepted,
        held_content=checked.content.digest if accepted is None and checked.may_be_accepted else None,
        untrusted_fields=(*(item.untrusted for item in checked.held_items), *checked.instructions.ignored),
        unsupported_fields=tuple(_unsupported_fields(files)),
        ignored=ignored,
        refused_agents=refused,
        warnings=(
            *checked.prompts.warnings,
            *_warnings(files, settings, str(workspace.home)),
            *_shortened_warnings((*instructions, *remote.instructions)),
            *organisations.warnings,
            *remote.warnings,
            *found.warnings,
            *scan_warnings,
        ),
    )
    return LoadedConfig(turn_config, (*organisations.wanted, *remote.wanted, *found.wanted))


def _agent_rules(agent: str, checked: CheckedConfig, of_skills: Iterator[Rule]) -> Ruleset:
    """A project's rules for all agents may be strict for one and loose for another: what the latter's own rules deny
    stays denied."""
    workspace = checked.workspace
    own, configured = (rules_of(agent, each, workspace) for each in (checked.own, checked.settings))
    found = rules_of(agent, checked.settings, workspace, of_skills)
    loose = configured != own and loosens(own, configured)
    return (*found, *rules.only_denies(own)) if loose else found


def may_fetch(ruleset: Ruleset, url: str) -> bool:
    """What would be asked about, a person has named in the configuration."""
    return evaluate(WEBFETCH, url, ruleset).action is not Action.DENY


def _without_prompts(settings: Config) -> Config:
    """But for those of agents that no turn works as: each turn holds the prompt of its own. Doors read commands."""
    agents = {
        name: agent if name in HIDDEN else agent.model_copy(update={"prompt": None})
        for name, agent in settings.agent.items()
    }
    return settings.model_copy(update={"agent": agents, "command": {}})


def _without_prompt(agent: Agent) -> Agent:
    return agent.model_copy(update={"prompt": None})


def _subagent(role: Role, known: Mapping[str, Agent]) -> Agent:
    agent = known.get(role.agent or BUILD.name)
    if agent is None:
        raise UnknownAgent(f"Agent not found: {role.agent!r}.", known)
    return agent


def _primary(role: Role, checked: CheckedConfig) -> Agent:
    """Raises UnknownAgent, also when the project's files make an agent the default that may do more than the user's own
    default, and leave no other."""
    known = checked.known
    if role.agent is not None:
        return select_agent(role.agent, known)
    agent, own_default = default_agent(checked.settings, known), checked.own_default
    if not checked.default_is_held:
        return agent
    if own_default in known and known[own_default].selectable:
        return known[own_default]
    problem = (
        f"The files of this project choose agent {agent.name!r}, which may do more than {own_default!r}, that of "
        "your own configuration: name the one that you want with `--agent`, or accept the files with `holdfast trust`."
    )
    raise UnknownAgent(problem, visible_names(known))


def _unsupported_fields(layers: Sequence[ConfigLayer]) -> Iterator[UnsupportedField]:
    for layer in layers:
        for path in unsupported_fields(layer.tree):
            yield UnsupportedField(file=layer.file, field=".".join(path))


def _warnings(layers: Sequence[ConfigLayer], settings: Config, home: str) -> Iterator[str]:
    positions = FilePositions()
    for layer in layers:
        for field in unknown_fields(layer.tree):
            yield f"{positions.name(layer.file, field)}: there is no field {field!r}: it has no effect."
        for path in unresolved_references(layer.tree):
            named = ".".join(path)
            where = positions.name(layer.file, named)
            yield f"{where}: the reference in {named!r} is not looked up: it counts as it is written."
        for key, at in layer.duplicate_keys:
            yield f"{layer.file}:{at}: the key {key!r} stands here a second time: only the last one counts."
    yield from _replaced_denials([layer for layer in layers if layer.trusted])
    yield from _shadowed_rules(settings, home)


def _shortened_warnings(instructions: Sequence[Instruction]) -> Iterator[str]:
    for each in instructions:
        if not each.complete:
            yield f"{each.path}: only the first {MAX_INSTRUCTION_BYTES // 1024} KiB are read as instructions."


def _replaced_denials(layers: Sequence[ConfigLayer]) -> Iterator[str]:
    tree: JsonObject = {}
    for layer in layers:
        named = [("agent", name, "permission") for name in _table_at(layer.tree, ("agent",))]
        for path in (("permission",), *named):
            before = _table_at(tree, path)
            for name, patterns in _table_at(layer.tree, path).items():
                if before.get(name) == "deny" and isinstance(patterns, dict) and "*" not in patterns:
                    yield (
                        f"{layer.file}: the patterns of {'.'.join((*path, name))} replace the denial of an earlier "
                        'file: write "*": "deny" as the first of them to keep it.'
                    )
        tree = deep_merge(tree, layer.tree)


def _table_at(tree: JsonObject, path: tuple[str, ...]) -> JsonObject:
    found = value_at(tree, path)
    return found if isinstance(found, dict) else {}


def _shadowed_rules(settings: Config, home: str) -> Iterator[str]:
    general = rules.from_config(settings.permission, home)
    for hidden in rules.find_shadowed(general):
        yield _shadowed_text("permission", hidden.rules, hidden.by)
    for name, agent in sorted((name, agent) for name, agent in settings.agent.items() if name not in RESERVED):
        own = rules.from_config(agent.permission, home)
        for hidden in rules.find_shadowed(own):
            yield _shadowed_text(f"agent.{name}.permission", hidden.rules, hidden.by)
        for hidden in rules.find_shadowed((*(rule for rule in general if rule.action is Action.DENY), *own)):
            if lost := tuple(rule for rule in hidden.rules if rule in general and rule not in own):
                yield f"agent.{name}.permission: {_rule_text(hidden.by)} undoes for this agent {_rule_texts(lost)}."


def _shadowed_text(table: str, hidden: Ruleset, by: Rule) -> str:
    return (
        f"{table}: {_rule_texts(hidden)} {'has' if len(hidden) == 1 else 'have'} no effect: "
        f"{_rule_text(by)} comes later and covers {'it' if len(hidden) == 1 else 'them'}. The last rule that matches "
        "decides, so write the broader one first."
    )


def _rule_texts(shown: Ruleset) -> str:
    return ", ".join(map(_rule_text, shown))


def _rule_text(rule: Rule) -> str:
    return f"{rule.permission} {rule.pattern!r}: {rule.action}"
