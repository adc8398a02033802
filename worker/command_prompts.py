"""The prompts that slash commands become."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pydantic import JsonValue

from activities.project.config_rules import Powers
from activities.store.database import Database
from worker.project_config import (
    Role,
    check_project_trust,
    default_models,
    find_project,
    load_commands,
    load_project_config,
)
from worker.settings import Settings
from workflows.domain.agents.agent import Agent, AgentMode, family_of
from workflows.domain.commands.slash_command import CommandSource, SlashCommand, command_prompt
from workflows.domain.commands.template import find_shell_references
from workflows.domain.config.agent_selection import select_agent
from workflows.domain.config.merge import is_local
from workflows.domain.config.references import has_reference
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.messages import ShellPart
from workflows.domain.prompt import Prompt


async def expand_command(
    settings: Settings,
    turn_config: TurnConfig,
    name: str,
    arguments: str,
    given: Prompt | None = None,
    sources: ConfigSources | None = None,
    *,
    session_model: str | None = None,
    database: Database | None = None,
) -> Prompt:
    """`turn_config`: of a turn that would begin without the command; `session_model`: its session's, if there is one;
    `database` as in `load_project_config`. Raises UsageError."""
    command = (await load_commands(settings, turn_config, sources)).named(name)
    if (family := family_of(command.model)) is not None:
        near = (given and given.model) or session_model or turn_config.config.model
        newest = await asyncio.to_thread(default_models(settings).newest, family, turn_config.config, near)
        command = command.model_copy(update={"model": newest})
    if command.model is not None and has_reference(command.model):
        raise UsageError(f"The model of /{name} is a reference, {command.model!r}: write provider/model.")
    agents, default = turn_config.delegation.agents, turn_config.agent.name
    prompt = command_prompt(command, arguments, given or Prompt(parts=()), agents, default)
    shell = [part.command for part in prompt.parts if isinstance(part, ShellPart)]
    found = _TrustedParts(command, settings, turn_config, sources)
    if shell and not (command.trusted or await found.holds("template", [*find_shell_references(command.template)])):
        _refuse_shell(command, shell)
    if prompt.agent is not None:
        select_agent(prompt.agent, {each.name: each for each in agents})  # raises for one that works for others only
    named = _named_by_file(command, prompt, agents)
    if named is not None and named != default and not await found.holds("agent", named):
        await _refuse_bolder(found, named, database)
    return prompt


@dataclass(frozen=True)
class _TrustedParts:
    """What a person may accept of a command, and has accepted."""

    command: SlashCommand
    settings: Settings
    turn_config: TurnConfig
    sources: ConfigSources | None

    async def holds(self, field: str, value: JsonValue) -> bool:
        accepted = self.turn_config.accepted
        content = await self.showing(field, value) if accepted is not None else None
        return accepted is not None and content is not None and content.digest == accepted.digest

    async def showing(self, field: str, value: JsonValue) -> TrustContent | None:
        """What a person may accept, if exactly this is part of it: the file may have changed since."""
        content = (await check_project_trust(self.settings, Path(self.turn_config.directory), self.sources)).content
        part = ("command", self.command.name, field), value
        shown = any((item.path, item.value) == part and item.file in self.command.files for item in content.items)
        return content if shown else None


def _named_by_file(command: SlashCommand, prompt: Prompt, agents: Sequence[Agent]) -> str | None:
    """The agent to which only a file that is not the user's own gives the work. A subagent of theirs does not count:
    any model may hand it work, as far as their rules say so."""
    if command.agent is None or command.agent_trusted:
        return None
    for_others = any(each.name == command.agent and each.mode is not AgentMode.PRIMARY for each in agents)
    return None if prompt.subtasks and for_others else command.agent


async def _refuse_bolder(parts: _TrustedParts, agent: str, database: Database | None) -> None:
    """Raises UsageError for an agent that may do more than the one that works here."""
    command, turn_config = parts.command, parts.turn_config
    directory = Path(turn_config.directory)
    other = await load_project_config(parts.settings, directory, Role(agent), parts.sources, database=database)
    own, named = (Powers(each.rules, each.agent.steps) for each in (turn_config, other))
    if named.exceed(own, find_project(parts.settings, directory)):
        shown = await parts.showing("agent", agent)
        raise UsageError(
            f"/{command.name} of {', '.join(command.files)} is for the agent {agent!r}, which may do more than "
            f"{turn_config.agent.name!r}: choose it yourself (`--agent {agent}`, or Tab)"
            f"{', or accept it with `holdfast trust`' if shown else ''}."
        )


def _refuse_shell(command: SlashCommand, shell: Sequence[str]) -> NoReturn:
    """Raises UsageError: a text of the project would run programs."""
    runs = f"/{command.name} of {', '.join(command.files)} runs {', '.join(map(repr, shell))}"
    if command.source is CommandSource.SKILL:
        raise UsageError(f"{runs}: a project's skill runs nothing as a command. Its agent can load it.")
    if not all(map(is_local, command.files)):
        raise UsageError(f"{runs}: a command of an organisation runs nothing. Write one of your own.")
    raise UsageError(f"{runs}: nobody has accepted exactly that. `holdfast trust` shows it, and accepts it.")
