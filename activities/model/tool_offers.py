"""The tools that a model is offered: those that no rule switches off."""

import re
from typing import Final, Literal

from activities.tools.tool import Toolset
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.permissions.rules import is_switched_off
from workflows.domain.tool_offer import ToolOffer

_CLAUDE: Final = re.compile(r"anthropic|claude")


def offer_tools(tools: Toolset, turn: TurnConfig) -> tuple[ToolOffer, ...]:
    """The offers, sorted by name for the provider's cache of prefixes."""
    by_name = (tools[name] for name in sorted(tools))
    offered = (tool for tool in by_name if tool.always_offered or not is_switched_off(tool.permission, turn.rules))
    offers = (tool.offer(turn) for tool in offered)
    return tuple(offer for offer in offers if offer is not None)


def tool_choice(model: str, *, text_only: bool, again: bool) -> Literal["none"] | None:
    """What a step of text only says of the tools, which stay in it for the provider's cache.

    Claude's cache holds no messages for another choice than before (Anthropic's guide to prompt caching, "What
    invalidates the cache"). There a reminder alone asks for text, and calls are refused; if it was not heeded, it is
    asked `again`. `model`: its names, as in `Endpoint`.
    """
    return "none" if text_only and (again or not _CLAUDE.search(model)) else None
