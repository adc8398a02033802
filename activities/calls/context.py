"""What a stored call needs to be planned, run, recovered or stopped."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from activities.calls.plan_call import plan_call
from activities.calls.planner.planner import Planner
from activities.calls.subagent import CallSubagent, Deliver
from activities.project.project_loader import ProjectLoader
from activities.shell.environment import tool_environment
from activities.store import calls, deltas
from activities.store.calls import CallEnvironment, CallRow
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.tools.tool import Tool, ToolContext
from activities.tools.toolset import Toolsets
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Plan
from workflows.domain.errors import StaleFence, ToolError, Unavailable
from workflows.domain.wire import Fence


@dataclass(frozen=True)
class ClaimedCall:
    """A call with its tool, validated arguments and context."""

    call: CallRow
    tool: Tool[Any]
    params: Any  # the arguments as the tool parsed them
    context: ToolContext
    planner: Planner | None = None

    async def plan(self) -> Plan:
        """What the call would do now. Raises ToolError."""
        return await plan_call(self.tool, self.params, self.call.arguments, self.context.turn, self.planner)


class CallContextFactory:
    """Builds `ClaimedCall`s. `machine` names the data directory with the commands' files, `deliver` sends the signals
    of other sessions."""

    def __init__(
        self,
        database: Database,
        loader: ProjectLoader,
        toolsets: Toolsets,
        machine: str,
        deliver: Deliver,
        planner: Planner | None = None,
    ) -> None:
        self.planner = planner
        self.database = database
        self.deliver = deliver
        self.machine = machine
        self.loader = loader
        self.toolsets = toolsets

    async def build(self, call: CallRow, call_environment: CallEnvironment, fence: Fence) -> ClaimedCall:
        """Raises ToolError for arguments that do not fit the tool, and for a tool that no longer exists."""
        turn_config = await self.database.turn_configs.get(self.database, call_environment.turn_config)
        tool = self.toolsets.of(turn_config).get(call.tool)
        if tool is None:
            raise ToolError(f"There is no tool {call.tool!r} any more.")
        context = self.context(call, call_environment, turn_config, fence)
        return ClaimedCall(call, tool, tool.parse(call.arguments), context, self.planner)

    def context(
        self, call: CallRow, call_environment: CallEnvironment, turn_config: TurnConfig, fence: Fence
    ) -> ToolContext:
        turn = self.loader.turn_context(call_environment.directory, turn_config)
        attempt = "-".join(str(number) for number in fence)
        watchers = Watchers(self.database, call.session)

        async def progress(metadata: dict[str, JsonValue]) -> None:
            with suppress(Unavailable):  # live progress may be lost
                if await watchers.present():
                    await deltas.publish(self.database, call.session, call.id, attempt, [metadata])

        async def check_claim() -> None:
            await self.require_current(call, fence)

        return ToolContext(
            session=call.session,
            call=call.id,
            attempt=attempt,
            turn=turn,
            environment=tool_environment(call_environment.environment, turn.workspace, call.id),
            progress=progress,
            fence=check_claim,
            subagent=CallSubagent(self.database, self.deliver, call, fence),
        )

    async def require_current(self, call: CallRow, fence: Fence) -> None:
        """Raise StaleFence if another attempt or an outcome has overtaken this one."""
        state, newest = await calls.current_claim(self.database, call.id)
        if state.settled or newest != fence:
            raise StaleFence(f"Call {call.id!r} is {state} under fence {newest}, this attempt is {fence}.")
