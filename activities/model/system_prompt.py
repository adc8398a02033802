"""The system prompt: its layers in order (opencode.md 6.1, 6.3, 6.4)."""

from datetime import date

import prompts
from activities.project.instructions import LIMIT
from workflows.domain.config.snapshot import Instruction, ProjectSnapshot


def system_prompt(snapshot: ProjectSnapshot, model: str, *, platform: str, today: date) -> str:
    """What the model is told before the conversation; `model` is "provider/model".

    Equal for all calls of a day in one snapshot, so that a provider's cache of prefixes holds.
    """
    agent = snapshot.agent
    standing = prompts.load(f"agents/{agent.name}") if agent.words else prompts.load("system/base")
    layers = [standing, _environment(snapshot, model, platform, today)]
    return "\n\n".join([*layers, *map(_instruction, snapshot.instructions)])


def _environment(snapshot: ProjectSnapshot, model: str, platform: str, today: date) -> str:
    provider, _, name = model.partition("/")
    settings = snapshot.config.provider.get(provider)
    known = settings.models.get(name) if settings else None
    return prompts.load(
        "system/environment",
        name=(known and known.name) or name,
        id=model,
        directory=snapshot.directory,
        root=snapshot.worktree or snapshot.directory,
        git="yes" if snapshot.worktree else "no",
        platform=platform,
        date=today.isoformat(),
    )


def _instruction(instruction: Instruction) -> str:
    if instruction.complete:
        return prompts.load("system/instructions", path=instruction.path, text=instruction.text)
    return prompts.load(
        "system/instructions_shortened", path=instruction.path, text=instruction.text, bytes=f"{LIMIT:,}"
    )
