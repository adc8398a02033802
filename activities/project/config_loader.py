"""Reads and judges everything that a directory determines: the turn configuration."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from activities.files.workspace import Workspace
from activities.own_thread import read_in_time
from activities.project.checked_config import CheckedConfig, check_trust
from activities.project.claude_agents import with_claude_agents
from activities.project.config_files import read_layers
from activities.project.config_warnings import file_warnings, shortened_warnings
from activities.project.instructions import project_names
from activities.project.organisations import Organisations, read_organisations
from activities.project.remote_instructions import RemoteInstructions, read_remote_instructions
from activities.project.skill_files import FoundSkills, find_skills, skill_rules
from activities.project.unsupported import ignored_files
from activities.web.remote_copies import RemoteSource
from workflows.domain.agents.agent import Agent, RefusedAgent
from workflows.domain.agents.built_in import BUILD, HIDDEN
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.agent_selection import check_readable, select_agent
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import unsupported_fields, value_at
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.config.turn_config import TurnConfig, UnsupportedField
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions.permission_keys import PLAN_ENTER, WEBFETCH
from workflows.domain.permissions.rules import Action, Ruleset, deny_tools
from workflows.domain.permissions.rulesets import Rulesets


@dataclass(frozen=True)
class Role:
    """A session's agent (None: the default one), its own rules, and the number of sessions above it."""

    agent: str | None = None
    rules: Ruleset = ()
    ancestors: int = 0


T = TypeVar("T")
PRIMARY_ROLE: Final = Role()
FindAccepted: TypeAlias = Callable[[TrustContent], Awaitable[AcceptedTrust | None]]


@dataclass(frozen=True)
class LoadedConfig:
    """`wanted`: what it names on the net. It holds the copies that are there."""

    turn_config: TurnConfig
    wanted: tuple[RemoteSource, ...]


@dataclass(frozen=True)
class _NamedTexts:
    """What the configuration names: on the net, and skills."""

    organisations: Organisations
    remote: RemoteInstructions
    skills: FoundSkills

    @property
    def wanted(self) -> tuple[RemoteSource, ...]:
        return (*self.organisations.wanted, *self.remote.wanted, *self.skills.wanted)

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.organisations.warnings, *self.remote.warnings, *self.skills.warnings)


async def load_turn_config(
    workspace: Workspace,
    sources: ConfigSources,
    managed: Path,
    role: Role = PRIMARY_ROLE,
    find_accepted: FindAccepted | None = None,
) -> LoadedConfig:
    """`managed`: the administrator's configuration folder. `find_accepted`: what a person has accepted of the project's
    files; without, nothing is. Raises ConfigError, UnknownAgent."""
    checked, accepted = await read_counting(workspace, sources, managed, find_accepted)
    return await read_configuration(workspace, lambda: _load_turn_config(checked, role, accepted))


async def read_counting(
    workspace: Workspace, sources: ConfigSources, managed: Path, find_accepted: FindAccepted | None
) -> tuple[CheckedConfig, AcceptedTrust | None]:
    """With trust, if a person has accepted the project's files. Raises ConfigError."""
    checked = await read_checked(workspace, sources, managed)
    if find_accepted is None or not checked.may_be_accepted:
        return checked, None
    if (accepted := await find_accepted(checked.content)) is None:
        return checked, None
    return await read_configuration(workspace, lambda: checked.with_trust(accepted)), accepted


async def read_checked(workspace: Workspace, sources: ConfigSources, managed: Path) -> CheckedConfig:
    """Raises ConfigError."""
    return await read_configuration(
        workspace, lambda: check_trust(_read_layers(workspace, sources, managed), workspace, sources)
    )


def _read_layers(workspace: Workspace, sources: ConfigSources, managed: Path) -> tuple[ConfigLayer, ...]:
    return with_claude_agents(read_layers(workspace, sources, managed), workspace, sources)


async def read_configuration(workspace: Workspace, read: Callable[[], T]) -> T:
    """What `read` returns. Raises ConfigError, also after a while, for file systems that do not answer."""
    return await read_in_time(f"The configuration of {str(workspace.directory)!r}", read)


def _load_turn_config(checked: CheckedConfig, role: Role, accepted: AcceptedTrust | None) -> LoadedConfig:
    workspace, settings = checked.workspace, checked.settings
    refused = tuple(layer.refused for layer in checked.files if layer.refused is not None)
    managed = checked.managed
    agent = _choose_agent(role, checked, refused)
    managed_model = managed.agent.get(agent.name, AgentSettings()).model or managed.model
    named = _read_named(checked, checked.rulesets(agent.name))
    judging = checked.rulesets(agent.name, skill_rules(named.skills.skills.values(), workspace))
    of_session = (*role.rules, *deny_tools({PLAN_ENTER: not checked.sources.unattended}))
    instructions = (*checked.instructions.instructions, *named.remote.instructions)
    ignored, scan_warnings = ignored_files(workspace, checked.sources)
    turn_config = TurnConfig(
        directory=str(workspace.directory),
        worktree=str(workspace.worktree) if workspace.worktree else None,
        home=str(workspace.home),
        config=_without_prompts(settings),
        model_is_managed=managed_model is not None,
        rules=judging.asking(checked.sources.ask).followed_by(of_session),
        agent=agent.model_copy(update={"model": managed_model}) if managed_model else agent,
        delegation=_delegation(role, checked),
        instructions=instructions,
        instruction_names=project_names(checked.sources),
        skills=named.skills.sorted(),
        accepted=accepted,
        held=tuple(item.untrusted for item in checked.held),
        untrusted_fields=checked.ignored,
        unsupported_fields=tuple(_unsupported_fields(checked.files)),
        ignored=ignored,
        refused_agents=refused,
        warnings=(
            *checked.prompts.warnings,
            *file_warnings(checked.files, settings, str(workspace.home)),
            *shortened_warnings(instructions),
            *named.warnings,
            *scan_warnings,
            *_chosen_model(checked, agent.name),
        ),
    )
    return LoadedConfig(turn_config, named.wanted)


def _read_named(checked: CheckedConfig, judging: Rulesets) -> _NamedTexts:
    """`judging`: what says which addresses may be fetched."""
    workspace, layers, fetchable = checked.workspace, checked.layers, partial(may_fetch, judging)
    return _NamedTexts(
        read_organisations(workspace),
        read_remote_instructions(workspace.data, layers, fetchable),
        find_skills(workspace, layers, checked.skill_folders, checked.sources, fetchable),
    )


def may_fetch(judging: Rulesets, url: str) -> bool:
    """What would be asked about, a person has named in the configuration."""
    return judging.action(WEBFETCH, url) is not Action.DENY


def _without_prompts(settings: Config) -> Config:
    """But for those of agents that no turn works as: each turn holds the prompt of its own. Doors read commands."""
    agents = {
        name: agent if name in HIDDEN else agent.model_copy(update={"prompt": None})
        for name, agent in settings.agent.items()
    }
    return settings.model_copy(update={"agent": agents, "command": {}})


def _without_prompt(agent: Agent) -> Agent:
    return agent.model_copy(update={"prompt": None})


def _delegation(role: Role, checked: CheckedConfig) -> Delegation:
    agents = tuple(map(_without_prompt, checked.agents.values()))
    return Delegation(agents=agents, ancestors=role.ancestors, limit=checked.settings.subagent_depth)


def _choose_agent(role: Role, checked: CheckedConfig, refused: Sequence[RefusedAgent]) -> Agent:
    """Raises UnknownAgent."""
    check_readable(role.agent or checked.settings.default_agent or BUILD.name, refused, checked.agents)
    if role.ancestors:
        return _subagent(role, checked.agents)
    return checked.default_agent() if role.agent is None else select_agent(role.agent, checked.agents)


def _subagent(role: Role, known: Mapping[str, Agent]) -> Agent:
    agent = known.get(role.agent or BUILD.name)
    if agent is None:
        raise UnknownAgent(f"Agent not found: {role.agent!r}.", known)
    return agent


def _chosen_model(checked: CheckedConfig, agent: str) -> Iterator[str]:
    """Which provider gets to see the conversation is worth a line where a project or an organisation says so."""
    for path in (("agent", agent, "model"), ("model",)):
        named = [(each, model) for each in checked.layers if (model := value_at(each.tree, path)) is not None]
        if named:
            layer, model = named[-1]
            if not layer.trusted:
                yield f"{layer.file}: this file, which is none of yours, chooses the model {model!r}."
            return


def _unsupported_fields(layers: Sequence[ConfigLayer]) -> Iterator[UnsupportedField]:
    for layer in layers:
        for path in unsupported_fields(layer.tree):
            yield UnsupportedField(file=layer.file, field=".".join(path))
