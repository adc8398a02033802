"""The tools that a model is offered: those that no rule switches off."""

from activities.tools.toolset import Toolset
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.permissions.rules import disabled_tools
from workflows.domain.tool_offer import ToolOffer


def offer_tools(tools: Toolset, turn: TurnConfig) -> tuple[ToolOffer, ...]:
    """The offers, sorted by name for the provider's cache of prefixes."""
    disabled = disabled_tools(sorted(tools), turn.rules)
    offers = (tools[name].offer(turn) for name in sorted(tools) if name not in disabled)
    return tuple(offer for offer in offers if offer is not None)
