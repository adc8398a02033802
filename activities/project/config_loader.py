"""Reads and judges everything that a directory determines: the turn configuration."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from activities.files.workspace import Workspace
from activities.project.config_files import read_layers
from activities.project.config_origins import ConfigOrigins
from activities.project.file_positions import FilePositions
from activities.project.instructions import (
    MAX_INSTRUCTION_BYTES,
    project_names,
    read_instructions,
)
from activities.project.organisations import read_organisations
from activities.project.prompt_files import read_prompts
from activities.project.remote_instructions import read_remote_instructions
from activities.project.skill_files import find_skills, skill_rules
from activities.project.unsupported import ignored_files
from activities.web.remote_copies import RemoteSource
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD, HIDDEN, RESERVED, agent_named
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.agent_selection import (
    available_agents,
    check_readable,
    default_agent,
    select_agent,
    visible_names,
)
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import JsonObject, unknown_fields, unsupported_fields, value_at
from workflows.domain.config.loosening import loosens
from workflows.domain.config.merge import ConfigLayer, deep_merge, merge_files
from workflows.domain.config.references import unresolved_references
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust import apply_trust
from workflows.domain.config.turn_config import Instruction, TurnConfig, UnsupportedField
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions import defaults, rules
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


@dataclass(frozen=True)
class LoadedConfig:
    """`wanted`: what it names on the net. It holds the copies that are there."""

    turn_config: TurnConfig
    wanted: tuple[RemoteSource, ...]


async def load_turn_config(
    workspace: Workspace, sources: ConfigSources, managed: Path, role: Role = PRIMARY_ROLE
) -> LoadedConfig:
    """`managed`: the administrator's configuration folder. Raises ConfigError, UnknownAgent."""
    return await asyncio.to_thread(_load_turn_config, workspace, sources, managed, role)


async def load_origins(workspace: Workspace, sources: ConfigSources, managed: Path) -> ConfigOrigins:
    """Raises ConfigError."""
    layers = await asyncio.to_thread(read_layers, workspace, sources, managed)
    files = tuple((layer.file, Config.model_validate(layer.tree)) for layer in layers)
    return ConfigOrigins(files, str(workspace.home))


async def load_merged(workspace: Workspace, sources: ConfigSources, managed: Path) -> "MergedConfig":
    """Raises ConfigError."""
    return await asyncio.to_thread(_load_merged, workspace, sources, managed)


def _load_merged(workspace: Workspace, sources: ConfigSources, managed: Path) -> "MergedConfig":
    from activities.project.config_values import MergedConfig  # for one command

    written = read_layers(workspace, sources, managed)
    layers, outside, _ = read_prompts(written, workspace.root)
    config, held = apply_trust(layers, lambda config, agent: rules_of(agent, config, workspace))
    return MergedConfig(config, tuple(zip(written, layers, strict=True)), (*held, *outside))


def _load_turn_config(workspace: Workspace, sources: ConfigSources, managed: Path, role: Role) -> LoadedConfig:
    files = read_layers(workspace, sources, managed)
    layers, outside_prompts, prompt_warnings = read_prompts(files, workspace.root)
    refused = tuple(layer.refused for layer in files if layer.refused is not None)
    settings, untrusted_fields = apply_trust(layers, lambda config, agent: rules_of(agent, config, workspace))
    own = Config.model_validate(merge_files(layer.tree for layer in layers if layer.trusted))
    known = available_agents(settings, own, refused)
    check_readable(role.agent or settings.default_agent or BUILD.name, refused, known)
    agent = _subagent(role, known) if role.ancestors else _primary(role, known, settings, own, workspace)
    managed_config = Config.model_validate(merge_files(layer.tree for layer in layers if layer.managed))
    managed_model = managed_config.agent.get(agent.name, AgentSettings()).model or managed_config.model
    instructions, outside = read_instructions(workspace, layers, sources)
    ceiling = _configured_rules(agent.name, managed_config, workspace)
    fetchable = partial(may_fetch, rules.apply_ceiling(ceiling, rules_of(agent.name, settings, workspace)))
    remote = read_remote_instructions(workspace.data, layers, fetchable)
    found = find_skills(workspace, layers, sources, fetchable)
    organisations = read_organisations(workspace)
    ignored, scan_warnings = ignored_files(workspace, sources)
    limited_rules = rules.apply_ceiling(
        ceiling, rules_of(agent.name, settings, workspace, skill_rules(found.skills.values(), workspace))
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
            agents=tuple(map(_without_prompt, known.values())), ancestors=role.ancestors, limit=settings.subagent_depth
        ),
        instructions=(*instructions, *remote.instructions),
        instruction_names=project_names(sources),
        skills=found.sorted(),
        untrusted_fields=(*untrusted_fields, *outside_prompts, *outside, *remote.untrusted, *found.untrusted),
        unsupported_fields=tuple(_unsupported_fields(files)),
        ignored=ignored,
        refused_agents=refused,
        warnings=(
            *prompt_warnings,
            *_warnings(files, settings, str(workspace.home)),
            *_shortened_warnings((*instructions, *remote.instructions)),
            *organisations.warnings,
            *remote.warnings,
            *found.warnings,
            *scan_warnings,
        ),
    )
    return LoadedConfig(turn_config, (*organisations.wanted, *remote.wanted, *found.wanted))


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


def _primary(role: Role, known: Mapping[str, Agent], settings: Config, own: Config, workspace: Workspace) -> Agent:
    """Raises UnknownAgent, also when the project's files make an agent the default that may do more than the user's own
    default."""
    if role.agent is not None:
        return select_agent(role.agent, known)
    agent, own_default = default_agent(settings, known), _own_default(own)
    if agent.name != own_default and loosens(
        rules_of(own_default, own, workspace), rules_of(agent.name, settings, workspace)
    ):
        problem = (
            f"The files of this project choose agent {agent.name!r}, which may do more than {own_default!r}, that of "
            "your own configuration: name the one that you want with `--agent`."
        )
        raise UnknownAgent(problem, visible_names(known))
    return agent


def _own_default(own: Config) -> str:
    """The user's files may name an agent that only the project defines."""
    try:
        return default_agent(own, available_agents(own)).name
    except UnknownAgent:
        return own.default_agent or BUILD.name


def rules_of(agent: str, config: Config, workspace: Workspace, of_skills: Iterable[Rule] = ()) -> Ruleset:
    """An agent's rules: built-in, the user's, its own (opencode.md 2.1). `of_skills`: of the folders of skills."""
    own = _configured_rules(agent, config, workspace)
    return defaults.agent_rules(
        (*of_skills, *agent_named(agent).rules),
        own,
        data=workspace.data,
        data_from_root=workspace.relative(workspace.data),
        temporary=workspace.temporary,
    )


def _configured_rules(agent: str, config: Config, workspace: Workspace) -> Ruleset:
    home = str(workspace.home)
    own = config.agent.get(agent, AgentSettings())
    return (*rules.from_config(config.permission, home), *rules.from_config(own.permission, home))


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
