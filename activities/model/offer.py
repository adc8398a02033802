"""What tools a model is offered: those that a rule does not switch off, by name."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from activities.model.port import ToolOffer
from activities.model.prepare import INVALID
from activities.tools.table import description, schema
from activities.tools.tool import Tool
from workflows.domain.permissions.rules import Ruleset, disabled_tools


def offered(tools: Mapping[str, Tool[Any]], rules: Ruleset) -> tuple[ToolOffer, ...]:
    """The offers, sorted by name, so that a provider's cache of prefixes holds."""
    wanted = sorted(name for name in tools if name != INVALID)
    disabled = disabled_tools(wanted, rules)
    return tuple(_offer(tools[name]) for name in wanted if name not in disabled)


@cache
def _offer(tool: Tool[Any]) -> ToolOffer:
    return ToolOffer(name=tool.name, description=description(tool), parameters=schema(tool))
