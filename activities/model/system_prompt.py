"""The system prompt's layers in order (opencode.md 6.1, 6.3, 6.4)."""

import html
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import prompts
from activities.model.base_prompt import base_prompt, prompt_family
from activities.project.instructions import MAX_INSTRUCTION_BYTES
from workflows.domain.agents.agent import Agent
from workflows.domain.config.provider_settings import ProviderModel
from workflows.domain.config.turn_config import Instruction, TurnConfig
from workflows.domain.description_limits import split_listed
from workflows.domain.reminder_tags import escape_reminders
from workflows.domain.skills import Skill, described_skills


class SystemLayer(NamedTuple):
    """`name`: for people."""

    name: str
    text: str


def system_prompt(turn_config: TurnConfig, model: str, *, platform: str, of_prompt: str | None = None) -> str:
    """The instructions before the conversation; `model` is "provider/model"; `of_prompt`: what the prompt says for its
    turn.

    All requests of a turn, and of turns with the same configuration, begin with it, so that the provider's prefix
    cache holds it. The date changes, so it is a reminder.
    """
    return join_layers(system_layers(turn_config, model, platform=platform, of_prompt=of_prompt))


def join_layers(layers: Iterable[SystemLayer]) -> str:
    return "\n\n".join(layer.text for layer in layers)


def system_layers(
    turn_config: TurnConfig, model: str, *, platform: str, of_prompt: str | None = None
) -> Iterator[SystemLayer]:
    agent = turn_config.agent
    own = agent_prompt(agent)
    if own:
        yield SystemLayer(f"prompt of the agent {agent.name}", own)
    else:
        settings = _settings(turn_config, model)
        family = prompt_family(model, settings.id if settings else None)
        yield SystemLayer(f"base prompt for {family}" if family else "base prompt", base_prompt(family))
    if turn_config.delegation.ancestors:
        yield SystemLayer("subagent", prompts.render_prompt("system/subagent"))
    yield SystemLayer("environment", _environment(turn_config, model, platform))
    for each in turn_config.instructions:
        yield SystemLayer(f"instructions {each.path}", escape_reminders(_instruction(each)))
    listed, _ = split_listed(described_skills(turn_config.skills, turn_config.rules))
    if listed:
        yield SystemLayer("skills", prompts.render_prompt("system/skills", skills="\n".join(map(_skill, listed))))
    if of_prompt is not None:
        yield SystemLayer("instructions of the prompt", of_prompt)


def agent_prompt(agent: Agent) -> str:
    """The configured one, else its file's; empty without both."""
    return agent.prompt or (prompts.render_prompt(f"agents/{agent.prompt_file}") if agent.prompt_file else "")


def _environment(turn_config: TurnConfig, model: str, platform: str) -> str:
    known = _settings(turn_config, model)
    return prompts.render_prompt(
        "system/environment",
        name=(known and known.name) or model.partition("/")[2],
        id=model,
        directory=turn_config.directory,
        root=turn_config.worktree or turn_config.directory,
        git="yes" if turn_config.worktree else "no",
        platform=platform,
    )


def _settings(turn_config: TurnConfig, model: str) -> ProviderModel | None:
    provider, _, name = model.partition("/")
    settings = turn_config.config.provider.get(provider)
    return settings.models.get(name) if settings else None


def _skill(skill: Skill) -> str:
    """A skill as one line, also if its texts contain line breaks."""
    texts = {"name": skill.name, "description": skill.description or "", "location": skill.file}
    inner = "".join(f"<{tag}>{html.escape(text, quote=False)}</{tag}>" for tag, text in texts.items())
    return f"<skill>{inner}</skill>"


def _instruction(instruction: Instruction) -> str:
    if instruction.complete:
        return prompts.render_prompt("system/instructions", path=instruction.path, text=instruction.text)
    path, text, limit = instruction.path, instruction.text, f"{MAX_INSTRUCTION_BYTES:,}"
    if path.startswith(("http://", "https://")):
        return prompts.render_prompt("system/instructions_cut", path=path, text=text, bytes=limit)
    return prompts.render_prompt("system/instructions_shortened", path=path, text=text, bytes=limit)
