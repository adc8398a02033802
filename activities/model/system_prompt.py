"""The system prompt's layers in order (opencode.md 6.1, 6.3, 6.4)."""

import html
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple

import prompts
from activities.project.instructions import MAX_INSTRUCTION_BYTES
from workflows.domain.agents.agent import Agent
from workflows.domain.config.provider_settings import ProviderModel
from workflows.domain.config.turn_config import Instruction, TurnConfig
from workflows.domain.description_limits import split_listed
from workflows.domain.mcp import TurnServer
from workflows.domain.reminder_tags import escape_reminders
from workflows.domain.skills import Skill, described_skills

# The first row that fits a model's id counts, as in opencode.md 6.2; docs/models.md has the reasons.
_FAMILIES: Final = (
    ("muse", re.compile(r"muse")),
    ("gpt-4", re.compile(r"gpt-4|(^|/)o[134](?!\d)")),
    ("gpt-6", re.compile(r"gpt-6(?!\d)")),
    ("codex", re.compile(r"codex")),
    ("gpt", re.compile(r"gpt-?\d")),
    ("gemini", re.compile(r"gemini-")),
    ("claude", re.compile(r"claude")),
    ("trinity", re.compile(r"trinity")),
    ("kimi", re.compile(r"kimi")),
)
_OF_PROVIDERS: Final = {"kimi-for-coding": "kimi", "moonshotai": "kimi", "moonshotai-cn": "kimi"}


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
    if servers := [*map(_server, _instructing_servers(turn_config))]:
        yield SystemLayer("servers", prompts.render_prompt("system/servers", servers="\n".join(servers)))
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


def _instructing_servers(turn_config: TurnConfig) -> Iterator[TurnServer]:
    """Those with instructions, one of whose tools the agent has."""
    used = {each.server for each in turn_config.foreign_tools if not turn_config.rules.hides(each.name)}
    return (each for each in turn_config.servers if each.instructions and each.name in used)


def _server(server: TurnServer) -> str:
    name, text = html.escape(server.name), escape_reminders(server.instructions[:MAX_INSTRUCTION_BYTES])
    return f'<server name="{name}">\n{html.escape(text, quote=False)}\n</server>'


def _instruction(instruction: Instruction) -> str:
    if instruction.complete:
        return prompts.render_prompt("system/instructions", path=instruction.path, text=instruction.text)
    path, text, limit = instruction.path, instruction.text, f"{MAX_INSTRUCTION_BYTES:,}"
    if path.startswith(("http://", "https://")):
        return prompts.render_prompt("system/instructions_cut", path=path, text=text, bytes=limit)
    return prompts.render_prompt("system/instructions_shortened", path=path, text=text, bytes=limit)


@cache
def base_prompt(family: str | None) -> str:
    """A family's section takes the place of the one with its heading; others follow."""
    sections = _sections(prompts.render_prompt("system/base"))
    if family is not None:
        sections |= _sections(prompts.render_prompt(f"families/{family}"))
    return "\n\n".join(sections.values())


def prompt_family(model: str, provider_id: str | None = None) -> str | None:
    """The family of "provider/model"; `provider_id`: what the provider calls a model that is configured by another
    name."""
    provider, _, name = model.partition("/")
    called = (provider_id or name).lower()
    return next((family for family, ids in _FAMILIES if ids.search(called)), _OF_PROVIDERS.get(provider))


def _sections(text: str) -> dict[str, str]:
    """The sections by their first lines."""
    parts = re.split(r"\n+(?=# )", text)
    return {part.partition("\n")[0]: part for part in parts}
