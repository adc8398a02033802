"""CallSettler: brings a step's open calls to their outcomes."""

import asyncio
from contextlib import suppress

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, is_cancelled_exception

from activities.calls.run import ToolActivities
from workflows import policies
from workflows.activity_failures import failure_text
from workflows.domain.open_call import CallPhase, CallResult, CallResultState, OpenCall
from workflows.domain.turn_state import TurnState
from workflows.domain.wire import RefuseRequest, RunRequest
from workflows.gate import Gate
from workflows.interruption import run_until
from workflows.runtime import SessionRuntime


class CallSettler:
    """The calls of one turn: all of a step at once, each through the gate."""

    def __init__(self, runtime: SessionRuntime, turn: TurnState) -> None:
        self.runtime = runtime
        self.session = runtime.state
        self.turn = turn
        self.gate = Gate(runtime, turn)
        self.call_failed = False  # a call has failed finally: stop waiting for people and subagents

    async def settle(self) -> None:
        """Bring each open call to its outcome; return early when only waits remain."""
        calls = asyncio.gather(*(self.settle_call(call) for call in self.turn.open_calls()), return_exceptions=True)
        await run_until(self.only_waits_remain, calls)  # waiting calls start again in the next run, if any

    def only_waits_remain(self) -> bool:
        """Whether no activity holds up a new run, or the turn's end after a failed call."""
        return self.runtime.can_continue_as_new() or (self.call_failed and self.runtime.in_flight == 0)

    async def settle_call(self, call: OpenCall) -> None:
        """Ask where a rule says so, then run or refuse; a changed effect is decided anew."""
        while call.open:
            try:
                if call.phase is CallPhase.DELEGATED:
                    await self.wait_for_rows(call)
                if not self.turn.refuses(call) and await self.gate.passes(call):
                    await self.wait_for_conflicting_calls(call)
                    if self.turn.error is not None:
                        return
                    await self.run_or_delegate(call)
                else:
                    call.apply_result(await self.refuse(call))
            except ActivityError as error:
                self.turn.error = failure_text(error)
                self.call_failed = True
                return

    async def wait_for_conflicting_calls(self, call: OpenCall) -> None:
        """Calls that change the same file run in order."""
        before = self.turn.calls[: self.turn.calls.index(call)]
        rivals = [other for other in before if call.conflicts_with(other)]
        if rivals:
            await workflow.wait_condition(
                lambda: self.turn.error is not None or not any(rival.open for rival in rivals)
            )

    async def run_or_delegate(self, call: OpenCall) -> None:
        ran = await self.run_call(call)
        if ran.state is CallResultState.SUSPENDED:
            await self.runtime.wait_until_resumed()
        if ran.stopped:
            self.session.stop()
        if ran.child is not None:
            await self.runtime.start_child(ran.child, ran.agent)
        call.apply_result(ran, workflow.now().timestamp())

    async def wait_for_rows(self, call: OpenCall) -> None:
        """Wait for a signal that the call's rows have changed, or until they are due to be read.

        The timer only has them read: whether the call is over is decided by the database's clock.
        """
        timeout = None if call.due is None else max(call.due - workflow.now().timestamp(), 0.0)
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: call.id in self.session.settled, timeout=timeout, timeout_summary=call.label or call.tool
            )
        self.session.settled = [each for each in self.session.settled if each != call.id]
        call.end_delegation()

    async def run_call(self, call: OpenCall) -> CallResult:
        """Run a call: within this workflow task if only quick ones are open (others would wait for it)."""
        summary = self.runtime.summary(call.label or f"{call.tool} {call.id}")
        if all(each.quick for each in self.turn.open_calls()):
            quick = policies.quick_tool(call.id, summary)
            try:
                here: CallResult = await self.runtime.run_local_activity(
                    ToolActivities.run, self.build_run_request(call), quick
                )
            except FailureError as error:  # not wrapped in an ActivityError on replay
                if is_cancelled_exception(error):
                    raise
            else:
                return here
        ran: CallResult = await self.runtime.run_activity(
            ToolActivities.run, self.build_run_request(call), policies.tool(self.session.limits, summary)
        )
        return ran

    def build_run_request(self, call: OpenCall) -> RunRequest:
        return RunRequest(
            **self.runtime.fence(), turn=self.turn.id, call=call.id, revision=call.revision, loop_guarded=call.repeats
        )

    async def refuse(self, call: OpenCall) -> CallResult:
        request = RefuseRequest(
            **self.runtime.fence(), turn=self.turn.id, call=call.id, no_steps_left=self.turn.refuses(call)
        )
        result: CallResult = await self.runtime.run_activity(
            ToolActivities.refuse,
            request,
            policies.store(self.session.limits, self.runtime.summary("refuse", call.label or call.tool)),
        )
        return result
