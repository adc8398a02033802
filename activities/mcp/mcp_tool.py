"""McpTool: a server's tool in a turn."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, InputRequiredResult
from pydantic import JsonValue

from activities.mcp.connections import McpConnections
from activities.mcp.results import read_result
from activities.mcp.turn_servers import address_of, describe_server
from activities.tools.tool import Output, Plan, Tool, ToolContext
from activities.turn_context import TurnContext
from prompts import render_prompt
from workflows.domain.call_display import CallDisplay
from workflows.domain.call_order import Act, Extent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import CallNotSent, CallUnanswered, OutcomeUnknown, ServerFailed, ToolError
from workflows.domain.mcp import Catalogue, OfferedTool
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.tool_offer import ToolOffer

Arguments = Mapping[str, JsonValue]
_NO_BACK_CHANNEL: Final = -32600
_ASKS: Final = (
    "The tool has begun, and then asked a person in a way that this version of the protocol does not have. With "
    "`holdfast.mcp.NAME.protocol: legacy` in your configuration, it can."
)


class McpTool(Tool[Arguments]):
    """What it does is its server's: the person's yes is to exactly this tool of this server with these arguments."""

    display = CallDisplay(verb="use a server's tool")

    def __init__(self, offered: OfferedTool, turn_config: TurnConfig, connections: McpConnections) -> None:
        self.name = offered.name
        self.recovery = offered.recovery
        self._offered = offered
        self._turn_config = turn_config
        self._connections = connections

    def offer(self, turn_config: TurnConfig) -> ToolOffer:
        return self._offered.offer

    def parse(self, arguments: Arguments) -> Arguments:
        return arguments

    async def plan(self, params: Arguments, turn: TurnContext) -> Plan:
        changes = self.recovery is not Recovery.REPEATABLE  # a server's hint counts where a person trusts it
        request = PermissionRequest(permission=self.name, patterns=("*",), always=("*",), changes=changes)
        directory = str(turn.workspace.directory)
        server = describe_server(self._offered.server, self._turn_config.config)
        effect = Effect(
            tool=self.name, arguments=dict(params), directory=directory, server=server, definition=self._offered.digest
        )
        return Plan(requests=(request,), effect=effect, extent=self._extent)

    @property
    def _extent(self) -> Extent:
        """What a server says of its tools decides on their order, which protects nothing."""
        offered = self._offered
        looking, changing = (Act.LOOK, Act.CHANGE) if offered.local else (Act.NOTHING, Act.SERVE)
        return Extent(act=looking if offered.looks else changing, server=offered.server)

    async def run(self, params: Arguments, plan: Plan, context: ToolContext) -> Output:
        environment = await asyncio.to_thread(context.environment)
        connection = self._connections.to(address_of(self._offered.server, self._turn_config, environment))
        try:
            self._require_as_offered(await connection.catalogue())
            await context.fence()
            answer = await connection.call(
                context.call,
                self._offered.tool,
                dict(params),
                limit=connection.limit,
                show=partial(_show_progress, context),
            )
        except (ServerFailed, CallNotSent) as error:
            raise ToolError(
                f"The server {self._offered.server!r} is not connected: {error} The call has not run."
            ) from error
        except CallUnanswered as error:
            raise self._uncertain(str(error)) from error
        except MCPError as error:
            if error.code == _NO_BACK_CHANNEL:
                raise self._uncertain(_ASKS) from error
            raise ToolError(f"The server {self._offered.server!r} refuses the call: {error.message}") from error
        if isinstance(answer, InputRequiredResult):
            asked = [
                each.params.message
                for each in (answer.input_requests or {}).values()
                if isinstance(each, ElicitRequest)
            ]
            raise ToolError(render_prompt("tools/server_asks", server=self._offered.server, questions="\n".join(asked)))
        output = await asyncio.to_thread(read_result, f"{self._offered.server}: {self._offered.tool}", answer)
        if answer.is_error:
            raise ToolError(output.output or "The server gives no reason.")
        return output

    def _require_as_offered(self, catalogue: Catalogue) -> None:
        """Raises ToolError if the server has another tool of this name by now, or none."""
        now = next((each for each in catalogue.tools if each.name == self._offered.tool), None)
        offered = self._offered
        if now is None or (now.shown_description, now.parameters) != (offered.description, offered.parameters):
            change = "does not offer it any more" if now is None else "has changed it since this turn began"
            raise ToolError(f"The server {self._offered.server!r} {change}. The call has not run.")

    def _uncertain(self, what: str) -> ToolError | OutcomeUnknown:
        return ToolError(what) if self.recovery.may_run_again else OutcomeUnknown(what)


async def _show_progress(context: ToolContext, done: float, total: float | None, message: str | None) -> None:
    share = f"{done:g} of {total:g}" if total is not None else f"{done:g}"
    await context.progress({"title": f"{message} ({share})" if message else share})
