"""StructuredOutput: the result that a turn owes, as the arguments of a call."""

import asyncio
from collections.abc import Mapping
from typing import NoReturn

from pydantic import JsonValue

from activities.tools.json_schema import find_problems, may_take_long
from activities.tools.tool import Output, Plan, Tool, ToolContext
from activities.turn_context import TurnContext
from prompts import render_prompt
from workflows.domain.call_display import CallDisplay
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import ToolError
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat
from workflows.domain.tool_offer import ToolOffer

Arguments = Mapping[str, JsonValue]


class StructuredOutputTool(Tool[Arguments]):
    """Needs no permission: it only takes the result. `plan` checks it by the turn's schema."""

    name = STRUCTURED_OUTPUT
    recovery = Recovery.REPEATABLE
    quick = True
    machine_bound = False
    always_offered = True
    display = CallDisplay(verb="give its result")

    def offer(self, turn_config: TurnConfig) -> ToolOffer | None:
        if turn_config.format is None:
            return None
        description = render_prompt("tools/structured_output")
        return ToolOffer(name=self.name, description=description, parameters=turn_config.format.json_schema)

    def parse(self, arguments: Arguments) -> Arguments:
        return arguments

    async def takes_long(self, params: Arguments, turn: TurnContext) -> bool:
        return may_take_long(_format_of(turn).json_schema)

    async def plan(self, params: Arguments, turn: TurnContext) -> Plan:
        try:
            problems = await asyncio.to_thread(find_problems, _format_of(turn).json_schema, dict(params))
        except RecursionError as error:
            raise ToolError("The result cannot be checked: its schema refers to itself without end.") from error
        except OverflowError as error:
            raise ToolError("The result has a number that is too large to be checked by its schema.") from error
        if problems:
            raise ToolError(render_prompt("tools/structured_output_invalid", problems="\n".join(problems)))
        effect = Effect(tool=self.name, arguments=dict(params), directory=str(turn.workspace.directory))
        return Plan(requests=(), effect=effect)

    def unchecked_plan(self, arguments: Arguments, turn: TurnContext, reason: str) -> NoReturn:
        """No person can stand in for the schema."""
        raise ToolError(f"The result could not be checked by its schema: {reason}.")

    async def run(self, params: Arguments, plan: Plan, context: ToolContext) -> Output:
        return Output(title="Result", output=render_prompt("tools/structured_output_taken"), metadata={"valid": True})


def _format_of(turn: TurnContext) -> OutputFormat:
    if turn.format is None:
        raise ToolError("This turn owes no result: answer in text.")
    return turn.format
