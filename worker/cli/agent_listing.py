"""The agents of the current directory, as a turn would find them."""

import platform
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from activities.model.context_split import estimate_text
from activities.model.system_prompt import SystemLayer, agent_prompt, system_layers
from activities.project.checked_config import CheckedConfig
from worker.cli.command_support import current_directory
from worker.project_config import Role, check_project_trust, default_models, load_project_config
from worker.settings import Settings
from workflows.domain.agents.agent import Agent, RefusedAgent
from workflows.domain.agents.built_in import BUILT_IN, HIDDEN, SUMMARY, TITLE, agent_named
from workflows.domain.config.agent_selection import hidden_agent, is_disabled
from workflows.domain.config.config import Config
from workflows.domain.config.fields import value_at
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions import rules
from workflows.domain.permissions.defaults import DEFAULT_RULES
from workflows.domain.permissions.rules import Rule
from workflows.domain.sent_request import SentLayer


@dataclass(frozen=True)
class ListedAgent:
    """`files`: those of the configuration that set something of it."""

    agent: Agent
    files: tuple[str, ...]
    is_default: bool = False

    @property
    def is_built_in(self) -> bool:
        return self.agent.name in BUILT_IN or self.agent.name in HIDDEN


@dataclass(frozen=True)
class AgentListing:
    """The default one first, then by name. `problem`: why no agent is the default."""

    agents: tuple[ListedAgent, ...]
    refused: tuple[RefusedAgent, ...]
    problem: str | None


@dataclass(frozen=True)
class AgentDetails:
    """`rules`: with the file of each, None for built-in ones; `layers`: of its instructions. `model`: of a turn that
    names none; None: that of another agent, or none at all. `warnings`: about its files. `sets`: of rules, which judge
    a call each by itself."""

    listed: ListedAgent
    model: str | None
    rules: tuple[tuple[Rule, str | None], ...]
    layers: tuple[SentLayer, ...]
    warnings: tuple[str, ...] = ()
    sets: int = 1


async def list_agents(settings: Settings) -> AgentListing:
    """Raises UsageError."""
    turn_config, problem = await load_any_config(settings)
    checked = await check_project_trust(settings, current_directory())
    asked = (hidden_agent(each, turn_config.config) for each in HIDDEN.values())
    found = [*turn_config.delegation.agents, *(each for each in asked if not is_disabled(each, turn_config.config))]
    default = turn_config.agent.name if problem is None else None
    listed = [ListedAgent(each, _files_of(each.name, checked), each.name == default) for each in found]
    listed.sort(key=lambda each: (not each.is_default, each.agent.name))
    return AgentListing(tuple(listed), turn_config.refused_agents, problem)


async def read_agent(settings: Settings, name: str) -> AgentDetails:
    """Raises UsageError."""
    checked = await check_project_trust(settings, current_directory())
    if name in HIDDEN:
        turn_config, _ = await load_any_config(settings)
        agent = hidden_agent(HIDDEN[name], turn_config.config)
        layers = [SystemLayer(f"prompt of the agent {name}", agent_prompt(agent))]
        model = agent.model or (turn_config.config.small_model if name in (TITLE.name, SUMMARY.name) else None)
        return AgentDetails(ListedAgent(agent, _files_of(name, checked)), model, (), _sized(layers))
    turn_config = await load_project_config(settings, current_directory(), Role(name, ancestors=1))
    model = turn_config.agent.model or (turn_config.config.model if turn_config.agent.selectable else None)
    if (family := turn_config.agent.model_family) is not None:
        model = default_models(settings).newest(family, turn_config.config, turn_config.config.model)
    layers = [*system_layers(turn_config, model or "", platform=platform.system().lower())]
    listed = ListedAgent(turn_config.agent, _files_of(name, checked), name == await _default_name(settings))
    warnings = tuple(each for each in turn_config.warnings if each.startswith(listed.files))
    return AgentDetails(
        listed, model, _rules(turn_config, checked), _sized(layers), warnings, len(turn_config.rules.sets)
    )


async def load_any_config(settings: Settings) -> tuple[TurnConfig, str | None]:
    """The configuration for the default agent, else for another one, and why there is no default."""
    try:
        return await load_project_config(settings, current_directory()), None
    except UnknownAgent as error:
        if not error.available:
            raise
        role = Role(error.available[0], ancestors=1)
        return await load_project_config(settings, current_directory(), role), str(error)


async def _default_name(settings: Settings) -> str | None:
    with suppress(UnknownAgent):
        return (await load_project_config(settings, current_directory())).agent.name
    return None


def _files_of(agent: str, checked: CheckedConfig) -> tuple[str, ...]:
    """The files that set something of an agent."""
    return tuple(each.file for each in checked.files if value_at(each.tree, ("agent", agent)) is not None)


def _rules(turn_config: TurnConfig, checked: CheckedConfig) -> tuple[tuple[Rule, str | None], ...]:
    name = turn_config.agent.name
    built_in = len(DEFAULT_RULES) + len(agent_named(name).rules)
    files = dict(_written_rules(name, checked))
    return tuple(
        (rule, files.get(_key(rule)) if number >= built_in else None)
        for number, rule in enumerate(turn_config.rules.flat)
    )


def _written_rules(agent: str, checked: CheckedConfig) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Each rule that a file has for an agent, with the file, from the weakest to the strongest."""
    files = [(layer.file, Config.model_validate(layer.tree)) for layer in checked.files]
    written = [(file, config.permission) for file, config in files]
    written += [(file, config.agent[agent].permission) for file, config in files if agent in config.agent]
    for file, permission in written:
        for rule in rules.from_config(permission, str(checked.workspace.home)):
            yield _key(rule), file


def _key(rule: Rule) -> tuple[str, str, str]:
    return rule.permission, rule.pattern, rule.action


def _sized(layers: list[SystemLayer]) -> tuple[SentLayer, ...]:
    return tuple(SentLayer(name=each.name, text=each.text, tokens=estimate_text(each.text)) for each in layers)
