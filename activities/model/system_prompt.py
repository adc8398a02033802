"""The system prompt's layers in order (opencode.md 6.1, 6.3, 6.4)."""

import prompts
from activities.project.instructions import MAX_INSTRUCTION_BYTES
from workflows.domain.config.turn_config import Instruction, TurnConfig


def system_prompt(turn_config: TurnConfig, model: str, *, platform: str) -> str:
    """The instructions before the conversation; `model` is "provider/model".

    The same for all requests with one turn config, for the provider's cache of prefixes: the date is a reminder.
    """
    agent = turn_config.agent
    base_prompt = (
        prompts.render_prompt(f"agents/{agent.prompt_file}")
        if agent.prompt_file
        else prompts.render_prompt("system/base")
    )
    layers = [base_prompt, _environment(turn_config, model, platform)]
    return "\n\n".join([*layers, *map(_instruction, turn_config.instructions)])


def _environment(turn_config: TurnConfig, model: str, platform: str) -> str:
    provider, _, name = model.partition("/")
    settings = turn_config.config.provider.get(provider)
    known = settings.models.get(name) if settings else None
    return prompts.render_prompt(
        "system/environment",
        name=(known and known.name) or name,
        id=model,
        directory=turn_config.directory,
        root=turn_config.worktree or turn_config.directory,
        git="yes" if turn_config.worktree else "no",
        platform=platform,
    )


def _instruction(instruction: Instruction) -> str:
    if instruction.complete:
        return prompts.render_prompt("system/instructions", path=instruction.path, text=instruction.text)
    return prompts.render_prompt(
        "system/instructions_shortened",
        path=instruction.path,
        text=instruction.text,
        bytes=f"{MAX_INSTRUCTION_BYTES:,}",
    )
