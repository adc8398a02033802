"""What tools a model is offered: those that a rule does not switch off, by name."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from activities.model.port import ToolOffer
from activities.model.prepare import INVALID
from activities.tools.table import description, schema
from activities.tools.tool import Tool
from workflows.domain.agents import Delegation
from workflows.domain.permissions.rules import Ruleset, disabled_tools


def offered(tools: Mapping[str, Tool[Any]], rules: Ruleset, delegation: Delegation) -> tuple[ToolOffer, ...]:
    """The offers, sorted by name, so that a provider's cache of prefixes holds."""
    return tuple(_offers(tools, rules, delegation))


def _offers(tools: Mapping[str, Tool[Any]], rules: Ruleset, delegation: Delegation) -> Iterator[ToolOffer]:
    wanted = sorted(name for name in tools if name != INVALID)
    disabled = disabled_tools(wanted, rules)
    for tool in (tools[name] for name in wanted if name not in disabled):
        values = tool.described(delegation, rules)
        if values is not None:
            yield _offer(tool, tuple(values.items()))


@cache
def _offer(tool: Tool[Any], values: tuple[tuple[str, str], ...]) -> ToolOffer:
    return ToolOffer(name=tool.name, description=description(tool, dict(values)), parameters=schema(tool))
