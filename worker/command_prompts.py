"""The prompts that slash commands become."""

from worker.project_config import load_commands
from worker.settings import Settings
from workflows.domain.commands.slash_command import command_prompt
from workflows.domain.config.agent_selection import select_agent
from workflows.domain.config.references import has_reference
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
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
    if prompt.agent is not None:
        select_agent(prompt.agent, {each.name: each for each in agents})  # raises for one that works for others only
    return prompt
