"""Results are checked by their turn's schema."""

from dataclasses import replace
from typing import Any

import pytest

from activities.calls.plan_call import plan_call
from activities.calls.planner.planner import open_planner
from activities.tools.structured_output import StructuredOutputTool
from activities.turn_context import TurnContext
from workflows.domain.errors import ToolError
from workflows.domain.output_format import OutputFormat

SLOW = {"type": "object", "properties": {"city": {"type": "string", "pattern": "^(a|a)+$"}}}
FAST = {"type": "object", "properties": {"city": {"type": "string"}}}
PRICE = {"type": "object", "properties": {"price": {"multipleOf": 0.01}}}


@pytest.mark.parametrize(
    ("schema", "result", "why"),
    [
        (SLOW, {"city": "a" * 40 + "b"}, "could not be checked by its schema: that took more than 0.3 s"),
        (SLOW, {"city": 7}, "city: 7 is not of type 'string'"),
        (FAST, {"city": 7}, "city: 7 is not of type 'string'"),
        (PRICE, {"price": 10**400}, "has a number that is too large to be checked"),
        (None, {"city": "Ulm"}, "owes no result"),
    ],
)
async def test_what_does_not_fit_or_takes_long_is_refused(
    turn: TurnContext, schema: dict[str, Any] | None, result: dict[str, Any], why: str
) -> None:
    tool, owing = StructuredOutputTool(), OutputFormat(json_schema=schema) if schema else None
    async with open_planner(cpu_seconds=0.3) as planner:
        with pytest.raises(ToolError) as refused:
            await plan_call(tool, result, result, replace(turn, format=owing), planner)
    assert why in str(refused.value)
