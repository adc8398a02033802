"""The system prompt of agents without their own: prompts/system/base.md, with the sections of the model's family."""

import re
from functools import cache
from typing import Final

import prompts

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
