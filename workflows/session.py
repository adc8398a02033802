"""SessionWorkflow: the loop of a session. Start reading here."""

import asyncio
from contextlib import suppress
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.domain import ids
from workflows.domain.behaviour import require_known
from workflows.domain.errors import ReloadDue
from workflows.domain.generation import Purpose
from workflows.domain.hash_chain import LogPosition
from workflows.domain.state import SessionState
from workflows.domain.wake_signal import WAKE, Wake, WakeKind
from workflows.domain.wire import CloseReason
from workflows.runtime import SessionRuntime
from workflows.turn import Turn

_ASIDES: Final = {WakeKind.TITLE: Purpose.TITLE, WakeKind.SUMMARY: Purpose.SUMMARY}


@workflow.defn(name=ids.WORKFLOW_TYPE)
class SessionWorkflow:
    """A session: loads prompts, runs turns, keeps asks open, and completes when idle."""

    @workflow.init
    def __init__(self, state: SessionState) -> None:
        self.state = state
        self.runtime = SessionRuntime(state)

    @workflow.run
    async def run(self, state: SessionState) -> LogPosition:
        """Returns the newest event that it has seen: a next run begins with it."""
        require_known(state.behaviour)
        try:
            while await self.wait_for_work():
                await self.runtime.continue_as_new_if_due()
                if (self.state.turn is None or self.state.reload) and not await self.runtime.load():
                    break
                raise_if_cancelled()
                if self.state.turn is not None:
                    await Turn(self.runtime, self.state.turn).run()
        except (asyncio.CancelledError, ActivityError) as error:
            if not is_cancelled_exception(error):
                raise
            # The workflow's own cancellation: a stop only cancels the turn's moves.
            await self.end()
            raise
        return self.state.seen

    @workflow.signal(name=WAKE)
    def wake(self, *arguments: object) -> None:  # with parameters of types, other arguments would fail the task
        if (wake := Wake.read(arguments)) is None:
            return
        self.state.wake(wake)
        purpose = _ASIDES.get(wake.kind)
        if purpose is not None and ids.is_id(ids.Prefix.GENERATION, wake.subject):
            self.runtime.start_aside(ids.GenerationId(wake.subject), purpose)

    async def end(self) -> None:
        """End the session with its open turn, as its rows have it."""
        while not self.state.reload or await self.runtime.load():
            with suppress(ReloadDue):
                await self.runtime.close(CloseReason.ENDED, end=True)
                break

    async def wait_for_work(self) -> bool:
        """An open turn is work. False: the run may end."""
        raise_if_cancelled()
        while not self.state.has_work():
            if self.state.ended:
                return False
            try:
                await workflow.wait_condition(
                    self.state.has_work, timeout=self.state.limits.idle, timeout_summary="idle"
                )
            except TimeoutError:
                await workflow.wait_condition(workflow.all_handlers_finished)
                if not self.state.has_work():  # no await from here to the end of the run
                    return False
        return True


def raise_if_cancelled() -> None:
    """Raise a cancellation that an activity's result has swallowed."""
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError
