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
                    if self.held_up_by(call):
                        await workflow.wait_condition(
                            lambda: (
                                self.turn.error is not None or self.turn.ends_by_reject() or not self.held_up_by(call)
                            )
                        )
                    if self.turn.error is not None:
                        return
                    await self.run_or_delegate(call)
                else:
                    self.apply_result(call, await self.refuse(call))
            except ActivityError as error:
                self.turn.error = failure_text(error)
                self.call_failed = True
                return

    def earlier(self, call: OpenCall) -> list[OpenCall]:
        """The open calls that it waits for."""
        return [each for place in call.waits_for if (each := self.turn.calls[place]).open]

    def held_up_by(self, call: OpenCall) -> list[OpenCall]:
        """What has to be settled before the call can run; where it is outdated, before it can be planned."""
        earlier = self.earlier(call)
        return [each for each in earlier if each.is_edit and not call.is_edit] if call.outdated else earlier

    def apply_result(self, call: OpenCall, result: CallResult) -> None:
        """An edit that does not leave what was planned outdates those that were planned on it."""
        place, revision = self.turn.calls.index(call), call.revision
        call.apply_result(result, workflow.now().timestamp())
        if call.is_edit and (call.revision != revision or not (call.open or result.as_planned)):
            for later in self.turn.open_calls():
                if later.is_edit and place in later.waits_for:
                    later.outdate()

    async def run_or_delegate(self, call: OpenCall) -> None:
        request = self.build_run_request(call)
        outdated, call.outdated = call.outdated, False  # it may become so again meanwhile
        ran = await self.run_call(call, request)
        if ran.state is CallResultState.SUSPENDED:
            call.outdated = outdated
            await self.runtime.wait_until_resumed()
        if ran.stopped:
            self.session.stop()
        if ran.child is not None:
            await self.runtime.start_child(ran.child, ran.agent)
        self.apply_result(call, ran)

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

    async def run_call(self, call: OpenCall, request: RunRequest) -> CallResult:
        """Run a call: a quick one within this workflow task, unless another may run beside it, which would wait."""
        summary = self.runtime.summary(call.label or f"{call.tool} {call.id}")
        if call.quick and not any(self.may_run_now(each) for each in self.turn.open_calls() if not each.quick):
            quick = policies.quick_tool(call.id, summary)
            try:
                here: CallResult = await self.runtime.run_local_activity(ToolActivities.run, request, quick)
            except FailureError as error:  # not wrapped in an ActivityError on replay
                if is_cancelled_exception(error):
                    raise
            else:
                return here
        ran: CallResult = await self.runtime.run_activity(
            ToolActivities.run, request, policies.tool(self.session.limits, summary)
        )
        return ran

    def may_run_now(self, call: OpenCall) -> bool:
        return not (call.phase is CallPhase.ASKED or self.held_up_by(call))

    def build_run_request(self, call: OpenCall) -> RunRequest:
        """Of the calls before it, edits leave what was planned, and quick ones change nothing."""
        before = [self.turn.calls[place] for place in call.waits_for]
        return RunRequest(
            **self.runtime.fence(),
            turn=self.turn.id,
            call=call.id,
            revision=call.revision,
            loop_guarded=call.repeats,
            only_plans=call.outdated and bool(self.earlier(call)),
            turn_ended=self.turn.ends_by_reject(),
            follows=call.outdated or not all(each.is_edit or each.quick for each in before),
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
