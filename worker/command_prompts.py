"""The prompts that slash commands become."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from activities.project.checked_config import CheckedConfig
from worker.project_config import check_project_trust, default_models, load_commands
from worker.settings import Settings
from workflows.domain.agents.agent import Agent, AgentMode, family_of
from workflows.domain.commands.slash_command import CommandSource, SlashCommand, command_prompt
from workflows.domain.commands.template import find_shell_references
from workflows.domain.config.agent_selection import select_agent
from workflows.domain.config.merge import is_local
from workflows.domain.config.references import has_reference
from workflows.domain.config.sources import ConfigSources
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
    warn: Callable[[str], None] = lambda warning: None,
) -> Prompt:
    """`turn_config`: of a turn that would begin without the command; `session_model`: its session's, if there is one;
    `warn`: gets what a person should know of it. Raises UsageError."""
    found = await load_commands(settings, turn_config, sources)
    command = found.named(name)
    for warning in found.warnings:
        if f" /{name} " in warning:
            warn(warning)
    if (family := family_of(command.model)) is not None:
        near = (given and given.model) or session_model or turn_config.config.model
        newest = await asyncio.to_thread(default_models(settings).newest, family, turn_config.config, near)
        command = command.model_copy(update={"model": newest})
    if command.model is not None and has_reference(command.model):
        raise UsageError(f"The model of /{name} is a reference, {command.model!r}: write provider/model.")
    agents, default = turn_config.delegation.agents, turn_config.agent.name
    prompt = command_prompt(command, arguments, given or Prompt(parts=()), agents, default)
    shell = [part.command for part in prompt.parts if isinstance(part, ShellPart)]
    if shell and not command.trusted:
        await _check_shell(command, shell, _Accepted(command, settings, turn_config, sources))
    if prompt.agent is not None:
        select_agent(prompt.agent, {each.name: each for each in agents})  # raises for one that works for others only
    if (named := _named_by_file(command, prompt, agents)) not in (None, default):
        await _check_agent(command, named, _Accepted(command, settings, turn_config, sources))
    return prompt


@dataclass(frozen=True)
class _Accepted:
    """What a person may accept of a command, and has accepted: the file may have changed since."""

    command: SlashCommand
    settings: Settings
    turn_config: TurnConfig
    sources: ConfigSources | None

    async def checked(self) -> CheckedConfig:
        return await check_project_trust(self.settings, Path(self.turn_config.directory), self.sources)

    def digest(self, checked: CheckedConfig, field: str, value: JsonValue) -> str | None:
        """Of exactly this; None: it is nothing to accept."""
        part, starts = (("command", self.command.name, field), value), checked.content.start_digests.items()
        files = self.command.files
        return next((each for each, item in starts if (item.path, item.value) == part and item.file in files), None)

    def holds(self, digest: str | None) -> bool:
        accepted = self.turn_config.accepted
        return accepted is not None and any(each.digest == digest for each in accepted.starts)


def _named_by_file(command: SlashCommand, prompt: Prompt, agents: Sequence[Agent]) -> str | None:
    """The agent to which only a file that is not the user's own gives the work. A subagent of theirs does not count:
    any model may hand it work, as far as their rules say so."""
    if command.agent is None or command.agent_trusted:
        return None
    for_others = any(each.name == command.agent and each.mode is not AgentMode.PRIMARY for each in agents)
    return None if prompt.subtasks and for_others else command.agent


async def _check_shell(command: SlashCommand, shell: Sequence[str], accepted: _Accepted) -> None:
    """Raises UsageError: a text of the project would run programs."""
    found: list[JsonValue] = [*find_shell_references(command.template)]
    if accepted.holds(accepted.digest(await accepted.checked(), "template", found)):
        return
    runs = f"/{command.name} of {', '.join(command.files)} runs {', '.join(map(repr, shell))}"
    if command.source is CommandSource.SKILL:
        raise UsageError(f"{runs}: a project's skill runs nothing as a command. Its agent can load it.")
    if not all(map(is_local, command.files)):
        raise UsageError(f"{runs}: a command of an organisation runs nothing. Write one of your own.")
    raise UsageError(f"{runs}: nobody has accepted exactly that. `holdfast trust` shows it, and accepts it.")


async def _check_agent(command: SlashCommand, agent: str, accepted: _Accepted) -> None:
    """Raises UsageError for an agent that a project's file may not choose, or not in place of one that a person has
    chosen."""
    checked, working = await accepted.checked(), accepted.turn_config.agent.name
    choice, digest = checked.choice, accepted.digest(checked, "agent", agent)
    usual = working == choice.default or not choice.is_known(working)
    if (usual and choice.allows(agent)) or accepted.holds(digest):
        return
    raise UsageError(
        f"/{command.name} of {', '.join(command.files)} is for the agent {agent!r}, which may do more than "
        f"{working!r}: choose it yourself (`--agent {agent}`, or Tab)"
        f"{', or accept it with `holdfast trust`' if digest is not None else ''}."
    )
