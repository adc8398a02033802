"""CheckedConfig: what a directory's files say, and what of it counts (security.md 12)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from activities.files.workspace import Workspace
from activities.project.command_trust import agent_items, named_agents, project_commands, shell_items
from activities.project.config_rules import Powers, rules_of
from activities.project.instructions import FoundInstructions, read_instructions
from activities.project.prompt_files import ReadPrompts, read_prompts
from activities.project.remote_instructions import foreign_addresses
from activities.project.skill_files import ConfiguredFolders, configured_folders
from activities.project.trust_contents import pin_contents, with_contents
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD
from workflows.domain.config.agent_selection import available_agents, default_agent
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import FieldPath
from workflows.domain.config.merge import ConfigLayer, merge_files
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust import AppliedTrust, apply_trust
from workflows.domain.config.trust_items import NOTHING, TrustContent, TrustItem
from workflows.domain.errors import UnknownAgent

_DEFAULT_AGENT: Final = ("default_agent",)
_DEFAULT: Final = "the agent that works here may do more than that of your own configuration"


class CheckedAgents(NamedTuple):
    """`default`: who works here, if anyone can; `own_default`: the one that works by the user's own files; `items`: the
    project's choice of a bolder one."""

    known: Mapping[str, Agent]
    default: str | None
    own_default: str
    items: tuple[TrustItem, ...]


@dataclass(frozen=True)
class CheckedConfig:
    """`files`: as they were read; `layers`: with the texts of prompts; `counting_layers`: the accepted ones as trusted.
    `own`: the part that the others cannot loosen. `held_items`: what has no effect without trust; `content`: the
    project's part of it, which may be accepted, or was, with what follows from it."""

    workspace: Workspace
    sources: ConfigSources
    files: tuple[ConfigLayer, ...]
    layers: tuple[ConfigLayer, ...]
    counting_layers: tuple[ConfigLayer, ...]
    settings: Config
    own: Config
    agents: CheckedAgents
    prompts: ReadPrompts
    instructions: FoundInstructions
    skill_folders: ConfiguredFolders
    held_items: tuple[TrustItem, ...]
    content: TrustContent

    @property
    def may_be_accepted(self) -> bool:
        return bool(self.content.items) and self.own.holdfast.trust != "never"

    @property
    def held_default(self) -> TrustItem | None:
        return next((item for item in self.held_items if item.path == _DEFAULT_AGENT), None)

    def with_trust(self) -> "CheckedConfig":
        """The same files, once a person has accepted their `content`."""
        return check_trust(self.files, self.workspace, self.sources, self.content)


def check_trust(
    files: tuple[ConfigLayer, ...], workspace: Workspace, sources: ConfigSources, accepted: TrustContent = NOTHING
) -> CheckedConfig:
    """Raises ConfigError."""
    prompts = read_prompts(files, workspace.root, accepted=accepted)
    layers = pin_contents(prompts.layers, accepted.items, workspace.home)
    trusting = {layer.file for layer in layers if accepted.items and layer.is_of_project}
    applied, agents = _apply(layers, workspace, trusting)
    commands = project_commands(files, workspace, sources)
    instructions = read_instructions(workspace, layers, sources, accepted)
    folders = configured_folders(workspace, layers, accepted)
    of_commands = (*shell_items(commands), *_bold_commands(commands, agents, applied, workspace))
    judged = (*applied.items, *foreign_addresses(layers), *of_commands, *agents.items)
    held = (
        *(item for item in judged if not (accepted.items and item.is_of_project)),
        *prompts.items,
        *instructions.items,
        *folders.items,
    )
    further = () if accepted.items else _follows(held, agents, layers, commands, workspace)
    content = accepted if accepted.items else _content((*held, *further), workspace)
    if agents.default is None:
        held += tuple(item for item in further if item.path == _DEFAULT_AGENT)
    return CheckedConfig(
        workspace=workspace,
        sources=sources,
        files=files,
        layers=layers,
        counting_layers=tuple(_with_trust(layer) if layer.file in trusting else layer for layer in layers),
        settings=applied.config,
        own=applied.own,
        agents=agents,
        prompts=prompts,
        instructions=instructions,
        skill_folders=folders,
        held_items=held,
        content=content,
    )


def _with_trust(layer: ConfigLayer) -> ConfigLayer:
    return layer.model_copy(update={"trusted": True})


def _apply(
    layers: Sequence[ConfigLayer], workspace: Workspace, accepted: Collection[str]
) -> tuple[AppliedTrust, CheckedAgents]:
    applied = apply_trust(layers, lambda config, agent: rules_of(agent, config, workspace), accepted=accepted)
    return applied, _check_agents(applied, layers, workspace)


def _follows(
    held: Sequence[TrustItem],
    agents: CheckedAgents,
    layers: Sequence[ConfigLayer],
    commands: Sequence[ConfigLayer],
    workspace: Workspace,
) -> tuple[TrustItem, ...]:
    """What has an effect once the `held` ones have theirs: another default agent, a subagent that is freed, a command's
    agent that may do more then."""
    if not any(item.is_of_project for item in held):
        return ()
    applied, then = _apply(layers, workspace, {layer.file for layer in layers if layer.is_of_project})
    items = (*applied.items, *then.items, *_bold_commands(commands, then, applied, workspace))
    if not then.items and then.default not in (None, agents.default, then.own_default):
        items = (*items, _chosen_default(then.default, layers))
    known = {_identity(item) for item in held}
    return tuple(item for item in items if item.is_of_project and _identity(item) not in known)


def _identity(item: TrustItem) -> tuple[str, FieldPath, str]:
    return item.file, item.path, repr(item.value)


def _chosen_default(name: str, layers: Sequence[ConfigLayer]) -> TrustItem:
    foreign = [layer for layer in layers if not layer.trusted]
    named = [layer for layer in foreign if "default_agent" in layer.tree] or foreign
    return TrustItem(file=named[-1].file, path=_DEFAULT_AGENT, value=name, why=_DEFAULT)


def _content(items: Iterable[TrustItem], workspace: Workspace) -> TrustContent:
    return TrustContent(items=tuple(with_contents(item, workspace) for item in items if item.is_of_project))


def _check_agents(applied: AppliedTrust, layers: Sequence[ConfigLayer], workspace: Workspace) -> CheckedAgents:
    refused = tuple(layer.refused for layer in layers if layer.refused is not None)
    known = available_agents(applied.config, applied.own, refused)
    own_default = _own_default(Config.model_validate(merge_files(layer.tree for layer in layers if layer.trusted)))
    try:
        agent = default_agent(applied.config, known)
    except UnknownAgent:
        return CheckedAgents(known, None, own_default, ())
    foreign = any(not layer.trusted for layer in layers)
    bolder = foreign and agent.name != own_default and _is_bolder(agent, own_default, applied, workspace)
    return CheckedAgents(known, agent.name, own_default, (_chosen_default(agent.name, layers),) if bolder else ())


def _bold_commands(
    commands: Sequence[ConfigLayer], agents: CheckedAgents, applied: AppliedTrust, workspace: Workspace
) -> Iterator[TrustItem]:
    named = (agents.known[name] for name in named_agents(commands) & agents.known.keys() - {agents.own_default})
    bolder = {agent.name for agent in named if _is_bolder(agent, agents.own_default, applied, workspace)}
    return agent_items(commands, bolder)


def _is_bolder(agent: Agent, own_default: str, applied: AppliedTrust, workspace: Workspace) -> bool:
    steps = applied.own.agent.get(own_default, AgentSettings()).steps
    own = Powers(rules_of(own_default, applied.own, workspace), steps)
    return Powers(rules_of(agent.name, applied.config, workspace), agent.steps).exceed(own, workspace)


def _own_default(own: Config) -> str:
    """The user's files may name an agent that only the project defines."""
    try:
        return default_agent(own, available_agents(own)).name
    except UnknownAgent:
        return own.default_agent or BUILD.name
