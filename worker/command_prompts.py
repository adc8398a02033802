"""The prompts that slash commands become."""

from worker.project_config import load_commands
from worker.settings import Settings
from workflows.domain.commands.slash_command import CommandSource, SlashCommand, command_prompt
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
    acceptable = command.source is not CommandSource.SKILL and all(map(is_local, command.files))
    if not command.trusted and not (turn_config.accepted and acceptable):
        _refuse_shell(command, prompt)
    if prompt.agent is not None:
        select_agent(prompt.agent, {each.name: each for each in agents})  # raises for one that works for others only
    return prompt


def _refuse_shell(command: SlashCommand, prompt: Prompt) -> None:
    """Raises UsageError where a text of the project, which nobody has accepted, would run programs."""
    shell = [part.command for part in prompt.parts if isinstance(part, ShellPart)]
    if not shell:
        return
    runs = f"/{command.name} of {', '.join(command.files)} runs {', '.join(map(repr, shell))}"
    if command.source is CommandSource.SKILL:
        raise UsageError(f"{runs}: a project's skill runs nothing as a command. Its agent can load it.")
    raise UsageError(f"{runs}: the project's files say so. Look at them, and accept them, with `holdfast trust`.")
