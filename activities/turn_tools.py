"""TurnTools: the tools that a turn has by its configuration."""

from typing import Any, NoReturn

from activities.mcp.connections import McpConnections
from activities.tools.structured_output import Arguments, StructuredOutputTool
from activities.tools.tool import Plan, Tool, ToolContext, Toolset
from activities.turn_context import TurnContext
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError
from workflows.domain.mcp import OfferedTool
from workflows.domain.output_format import STRUCTURED_OUTPUT
from workflows.domain.tool_offer import ToolOffer


class MissingTool(Tool[Arguments]):
    """A foreign tool that nothing here runs: it stays in its turn's requests, and calls of it fail."""

    recovery = Recovery.ONCE

    def __init__(self, offered: OfferedTool) -> None:
        self.name, self._offered = offered.name, offered

    def offer(self, turn_config: TurnConfig) -> ToolOffer:
        return self._offered.offer

    def parse(self, arguments: Arguments) -> Arguments:
        return arguments

    async def plan(self, params: Arguments, turn: TurnContext) -> NoReturn:
        raise ToolError(f"No connection offers the tool {self.name!r} any more. It was not run: go on without it.")

    async def run(self, params: Arguments, plan: Plan, context: ToolContext) -> NoReturn:
        await self.plan(params, context.turn)


class TurnTools:
    """These tools, StructuredOutput in a turn that owes a result, and the foreign tools that the turn was offered:
    `connections` run them."""

    def __init__(self, tools: Toolset, connections: McpConnections | None = None) -> None:
        self._tools = tools
        self._with_output = {**tools, STRUCTURED_OUTPUT: StructuredOutputTool()}
        self._connections = connections

    def of(self, turn: TurnConfig) -> Toolset:
        own = self._tools if turn.format is None else self._with_output
        return {**self._foreign(turn), **own} if turn.foreign_tools else own

    def _foreign(self, turn: TurnConfig) -> dict[str, Tool[Any]]:
        if self._connections is None:
            return {offer.name: MissingTool(offer) for offer in turn.foreign_tools}
        from activities.mcp.mcp_tool import McpTool  # memory: for whom has servers only

        return {offer.name: McpTool(offer, turn, self._connections) for offer in turn.foreign_tools}
