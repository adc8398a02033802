"""What a stored call needs to be planned, run, recovered or stopped."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from pydantic import JsonValue

from activities.calls import outcomes
from activities.calls.call_prompt import queue_prompt
from activities.calls.call_wait import CallWait
from activities.calls.effect import CallEffect
from activities.calls.outcomes import Settlement
from activities.calls.planner.planner import Planner
from activities.calls.subagent import CallSubagent, Deliver
from activities.fault_limit import EXPECTED_ERRORS
from activities.project.project_loader import ProjectLoader
from activities.shell.environment import tool_environment
from activities.store import asks, attached_instructions, calls, deltas
from activities.store.calls import CallEnvironment, CallRow
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.tools.tool import ToolContext
from activities.tools.toolset import Toolsets
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import Unavailable
from workflows.domain.ids import PartId
from workflows.domain.wire import Fence

_LOG: Final = logging.getLogger("holdfast.tools")


@dataclass(frozen=True)
class CallContextFactory:
    """Opens stored calls for attempts. `machine` names the data directory with the commands' files, `deliver` sends the
    signals of other sessions."""

    database: Database
    loader: ProjectLoader
    toolsets: Toolsets
    machine: str
    deliver: Deliver
    planner: Planner | None = None

    async def open(self, call: PartId, fence: Fence) -> CallEffect:
        """Takes the call from the cache if this process has just prepared it. Raises NotFound."""
        row, evidence = self.database.prepared_calls.pop(call) or (None, None)
        environments = self.database.call_environments
        environment = environments.get((row.session, evidence.turn_config)) if row and evidence else None
        if row is None or environment is None:
            row, environment = await calls.read(self.database, call)
            environments.put((row.session, environment.turn_config), environment)
        turn_config = await self.database.turn_configs.get(self.database, environment.turn_config)
        context = self.context(row, environment, turn_config, fence)
        return CallEffect(row, self.toolsets.of(turn_config), context, self.machine, self.planner, evidence)

    async def stop(self, call: CallRow, fence: Fence, given_up: str | None = None) -> Settlement:
        """End what a claimed call still runs. `given_up`: why it is not retried; a failure here makes the outcome
        unknown."""
        try:
            effect = await self.open(call.id, fence)
            return await effect.stop(call)
        except EXPECTED_ERRORS:
            raise
        except Exception as error:
            if given_up is None:
                raise
            _LOG.exception("call %s could not be ended", call.id)
            return outcomes.unknown(call, f"{given_up}; ending it: {type(error).__name__}: {error}")

    def context(
        self, call: CallRow, environment: CallEnvironment, turn_config: TurnConfig, fence: Fence
    ) -> ToolContext:
        turn = self.loader.turn_context(environment.directory, turn_config)
        attempt = "-".join(str(number) for number in fence)
        watchers = Watchers(self.database, call.session)

        async def progress(metadata: dict[str, JsonValue]) -> None:
            with suppress(Unavailable):  # live progress may be lost
                if await watchers.present():
                    await deltas.publish(self.database, call.session, call.id, attempt, [metadata])

        return ToolContext(
            session=call.session,
            call=call.id,
            attempt=attempt,
            turn=turn,
            environment=tool_environment(environment.environment, turn.workspace, call.id),
            progress=progress,
            answers=partial(asks.answers_to, self.database, call.id),
            queue_prompt=partial(queue_prompt, self.database, call, fence),
            attach=partial(attached_instructions.claim, self.database, call.id, fence),
            fence=partial(calls.require_claim, self.database, call.id, fence),
            subagent=CallSubagent(self.database, self.deliver, call, fence),
            wait=CallWait(self.database, call, fence),
        )
