"""CheckedConfig: what a directory's files say, and what of it counts (security.md 12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from activities.files.workspace import Workspace
from activities.project.command_trust import shell_items
from activities.project.config_rules import rules_of
from activities.project.instructions import FoundInstructions, read_instructions
from activities.project.prompt_files import ReadPrompts, read_prompts
from activities.project.remote_instructions import foreign_addresses
from activities.project.skill_files import outside_folders
from activities.project.trust_contents import pin_contents, with_contents
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD
from workflows.domain.config.agent_selection import available_agents, default_agent
from workflows.domain.config.config import Config
from workflows.domain.config.loosening import loosens
from workflows.domain.config.merge import ConfigLayer, merge_files
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust import AppliedTrust, apply_trust
from workflows.domain.config.trust_items import TrustContent, TrustItem
from workflows.domain.errors import UnknownAgent

_DEFAULT: Final = "the agent that works here may do more than that of your own configuration"


@dataclass(frozen=True)
class CheckedConfig:
    """`files`: as they were read; `layers`: with the texts of prompts; `counting_layers`: the accepted ones as trusted.
    `own`: the part that the others cannot loosen. `known`: the agents, and `own_default` the user's own default one.
    `items`: what has no effect without trust, and `content` the project's part of it, which may be `accepted`."""

    workspace: Workspace
    sources: ConfigSources
    files: tuple[ConfigLayer, ...]
    layers: tuple[ConfigLayer, ...]
    counting_layers: tuple[ConfigLayer, ...]
    settings: Config
    own: Config
    known: Mapping[str, Agent]
    own_default: str
    prompts: ReadPrompts
    instructions: FoundInstructions
    items: tuple[TrustItem, ...]
    content: TrustContent
    accepted: bool

    @property
    def may_be_accepted(self) -> bool:
        return bool(self.content.items) and self.own.holdfast.trust != "never"

    @property
    def held_items(self) -> tuple[TrustItem, ...]:
        return tuple(item for item in self.items if not (self.accepted and item.is_of_project))

    @property
    def default_is_held(self) -> bool:
        return any(item.path == ("default_agent",) for item in self.held_items)

    def with_trust(self) -> "CheckedConfig":
        """The same files, once a person has accepted their `content`."""
        return check_trust(self.files, self.workspace, self.sources, accepted=self.content)


def check_trust(
    files: tuple[ConfigLayer, ...],
    workspace: Workspace,
    sources: ConfigSources,
    *,
    accepted: TrustContent | None = None,
) -> CheckedConfig:
    """Raises ConfigError."""
    trusting = frozenset(layer.file for layer in files if accepted and layer.is_of_project)
    prompts = read_prompts(_trust(files, trusting), workspace.root)
    layers = tuple(_as_read(layer, prompted) for layer, prompted in zip(files, prompts.layers, strict=True))
    if accepted:
        layers = pin_contents(layers, accepted.items)
    applied = apply_trust(layers, lambda config, agent: rules_of(agent, config, workspace), accepted=trusting)
    refused = tuple(layer.refused for layer in files if layer.refused is not None)
    known = available_agents(applied.config, applied.own, refused)
    own_default = _own_default(Config.model_validate(merge_files(layer.tree for layer in layers if layer.trusted)))
    counting = _trust(layers, trusting)
    instructions = read_instructions(workspace, counting, sources, accepted=bool(accepted))
    items = (
        *applied.items,
        *prompts.items,
        *instructions.items,
        *foreign_addresses(counting),
        *outside_folders(workspace, counting),
        *shell_items(files, workspace, sources),
        *_bold_default(applied, known, own_default, layers, workspace),
    )
    own_items = tuple(with_contents(item, workspace.root) for item in items if item.is_of_project)
    return CheckedConfig(
        workspace=workspace,
        sources=sources,
        files=files,
        layers=layers,
        counting_layers=counting,
        settings=applied.config,
        own=applied.own,
        known=known,
        own_default=own_default,
        prompts=prompts,
        instructions=instructions,
        items=items,
        content=accepted or TrustContent(items=own_items),
        accepted=bool(accepted),
    )


def _trust(layers: Sequence[ConfigLayer], files: frozenset[str]) -> tuple[ConfigLayer, ...]:
    return tuple(layer.model_copy(update={"trusted": True}) if layer.file in files else layer for layer in layers)


def _as_read(layer: ConfigLayer, prompted: ConfigLayer) -> ConfigLayer:
    return layer if prompted.tree is layer.tree else layer.model_copy(update={"tree": prompted.tree})


def _bold_default(
    applied: AppliedTrust,
    known: Mapping[str, Agent],
    own_default: str,
    layers: Sequence[ConfigLayer],
    workspace: Workspace,
) -> tuple[TrustItem, ...]:
    """The choice of an agent that may do more than the user's own default."""
    try:
        agent = default_agent(applied.config, known).name
    except UnknownAgent:
        return ()
    foreign = [layer for layer in layers if not layer.trusted]
    if agent == own_default or not foreign:
        return ()
    if not loosens(rules_of(own_default, applied.own, workspace), rules_of(agent, applied.config, workspace)):
        return ()
    named = [layer for layer in foreign if layer.tree.get("default_agent") == agent] or foreign
    return (TrustItem(file=named[-1].file, path=("default_agent",), value=agent, why=_DEFAULT),)


def _own_default(own: Config) -> str:
    """The user's files may name an agent that only the project defines."""
    try:
        return default_agent(own, available_agents(own)).name
    except UnknownAgent:
        return own.default_agent or BUILD.name
