"""The prompts that slash commands become."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from worker.project_config import check_project_trust, load_commands
from worker.settings import Settings
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
) -> Prompt:
    """`turn_config`: of a turn that would begin without the command. Raises UsageError."""
    command = (await load_commands(settings, turn_config, sources)).named(name)
    if command.model is not None and has_reference(command.model):
        raise UsageError(f"The model of /{name} is a reference, {command.model!r}: write provider/model.")
    agents, default = turn_config.delegation.agents, turn_config.agent.name
    prompt = command_prompt(command, arguments, given or Prompt(parts=()), agents, default)
    shell = [part.command for part in prompt.parts if isinstance(part, ShellPart)]
    if shell and not (command.trusted or await _is_accepted(command, settings, turn_config, sources)):
        _refuse_shell(command, shell)
    if prompt.agent is not None:
        select_agent(prompt.agent, {each.name: each for each in agents})  # raises for one that works for others only
    return prompt


async def _is_accepted(
    command: SlashCommand, settings: Settings, turn_config: TurnConfig, sources: ConfigSources | None
) -> bool:
    """Whether exactly what this text runs is part of what a person has accepted: the file may have changed since."""
    if turn_config.accepted is None:
        return False
    checked = await check_project_trust(settings, Path(turn_config.directory), sources)
    return checked.content.digest == turn_config.accepted.digest and any(
        item.path == ("command", command.name, "template")
        and item.file in command.files
        and item.value == find_shell_references(command.template)
        for item in checked.content.items
    )


def _refuse_shell(command: SlashCommand, shell: Sequence[str]) -> NoReturn:
    """Raises UsageError: a text of the project would run programs."""
    runs = f"/{command.name} of {', '.join(command.files)} runs {', '.join(map(repr, shell))}"
    if command.source is CommandSource.SKILL:
        raise UsageError(f"{runs}: a project's skill runs nothing as a command. Its agent can load it.")
    if not all(map(is_local, command.files)):
        raise UsageError(f"{runs}: a command of an organisation runs nothing. Write one of your own.")
    raise UsageError(f"{runs}: nobody has accepted exactly that. `holdfast trust` shows it, and accepts it.")
