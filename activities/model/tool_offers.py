"""The tools that a model is offered: those that no rule switches off."""

from activities.tools.toolset import Toolset
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.permissions.rules import is_switched_off
from workflows.domain.tool_offer import ToolOffer


def offer_tools(tools: Toolset, turn: TurnConfig) -> tuple[ToolOffer, ...]:
    """The offers, sorted by name for the provider's cache of prefixes."""
    offered = (tools[name] for name in sorted(tools) if not is_switched_off(tools[name].permission, turn.rules))
    offers = (tool.offer(turn) for tool in offered)
    return tuple(offer for offer in offers if offer is not None)
