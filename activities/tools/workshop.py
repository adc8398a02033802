"""Workshop: what a stored call needs to be planned, run, recovered or stopped."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from activities.project.survey import Surveyor
from activities.session.children import Children, Ring
from activities.shell.environment import tool_environment
from activities.store import calls, deltas
from activities.store.calls import CallRow, Context
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.tools.arguments import validated
from activities.tools.planner.planner import Planner
from activities.tools.planning import planned
from activities.tools.tool import Params, Surroundings, Tool
from workflows.domain.config.config import ToolOutput
from workflows.domain.context.truncate import Limits
from workflows.domain.effects import Plan
from workflows.domain.errors import StaleFence, Unavailable
from workflows.domain.wire import Fence


@dataclass(frozen=True)
class Job:
    """A call with its tool, its validated arguments, and the world around it."""

    call: CallRow
    tool: Tool[Any]
    params: Params
    around: Surroundings
    planner: Planner | None = None

    async def plan(self) -> Plan:
        """What the call would do now. Raises ToolError."""
        return await planned(self.tool, self.params, self.around.place, self.planner)


class Workshop:
    """Puts jobs together from the ledger's rows. `machine` names the data directory that commands are kept in, `ring`
    tells other sessions of stops, `planner` checks what may take long."""

    def __init__(
        self,
        database: Database,
        surveyor: Surveyor,
        tools: Mapping[str, Tool[Any]],
        machine: str,
        ring: Ring,
        planner: Planner | None = None,
    ) -> None:
        self.planner = planner
        self.database = database
        self.ring = ring
        self.machine = machine
        self.surveyor = surveyor
        self.tools = tools

    async def job(self, call: CallRow, context: Context, fence: Fence) -> Job:
        """Make a call ready. Raises ToolError for arguments that do not fit the tool."""
        tool = self.tools[call.tool]
        params = validated(tool, call.arguments)
        return Job(call, tool, params, await self.around(call, context, fence), self.planner)

    async def around(self, call: CallRow, context: Context, fence: Fence) -> Surroundings:
        snapshot = await self.database.snapshots.get(self.database, context.snapshot)
        place = self.surveyor.place(context.directory, snapshot)
        attempt = "-".join(str(number) for number in fence)
        watchers = Watchers(self.database, call.session)

        async def progress(metadata: dict[str, JsonValue]) -> None:
            with suppress(Unavailable):  # what is shown live may be lost, the call goes on
                if await watchers.there():
                    await deltas.keep(self.database, call.session, call.id, attempt, [metadata])

        async def still_mine() -> None:
            await self.check(call, fence)

        return Surroundings(
            session=call.session,
            call=call.id,
            attempt=attempt,
            place=place,
            environment=tool_environment(context.environment, place, call.id),
            progress=progress,
            fence=still_mine,
            delegate=Children(self.database, self.ring, call, fence),
            limits=limits(snapshot.config.tool_output),
        )

    async def check(self, call: CallRow, fence: Fence) -> None:
        """Raise StaleFence when another attempt, a later chain or an outcome has overtaken this one."""
        state, newest = await calls.newest(self.database, call.id)
        if state.settled or newest != fence:
            raise StaleFence(f"Call {call.id!r} is {state} under fence {newest}, this attempt is {fence}.")


def limits(configured: ToolOutput) -> Limits:
    """How much of an output a model is shown: as configured, else as usual."""
    return Limits.model_validate(configured.model_dump(exclude_none=True))
