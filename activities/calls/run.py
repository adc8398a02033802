"""Tools.run and Tools.refuse: claim, effect, outcome."""

import asyncio
import logging
from functools import partial
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.calls.claim import AlreadySettled, Claimed, ClaimResult, Undecided, claim, claim_unchanged
from activities.calls.context import CallContextFactory, ClaimedCall
from activities.calls.output import truncate_output
from activities.calls.permissions import load_evaluator
from activities.execution import fence_of
from activities.failpoints import failpoint
from activities.fault_limit import EXPECTED_ERRORS, GivenUp, count_faults
from activities.heartbeat import heartbeats
from activities.stop_interceptor import stop_requested
from activities.store import calls, deltas, turns
from activities.store.calls import CachedEvidence, CallRow
from activities.store.commit_retry import finish_despite_cancel, finish_within_grace, retry_while_unavailable
from activities.store.database import Database, dumps
from activities.store.generations import Suspended, TurnOver
from activities.store.journal import WORKER, Journal, SessionVersion, session_journal
from activities.store.optimistic import write_optimistically
from activities.tools.tool import ABORTED, CallStopped, Delegated, OutcomeUnknown
from prompts import render_prompt
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import HoldfastError, StaleFence, ToolError, UnknownEpoch
from workflows.domain.events.calls import WriteRefused
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.permissions import refusals
from workflows.domain.permissions.rules import Action
from workflows.domain.wire import Fence, RefuseRequest, RunRequest

OTHER_MACHINE: Final = "It began on another machine, which is gone, and whose files and processes cannot be seen here."
_REPEATABLE: Final = (Recovery.REPEATABLE, Recovery.IDEMPOTENT)
_LOG: Final = logging.getLogger("holdfast.tools")


class ToolActivities:
    """Brings a call to its one outcome. reliability.md 6 says what a second attempt may do."""

    def __init__(self, database: Database, call_contexts: CallContextFactory) -> None:
        self.database = database
        self.call_contexts = call_contexts

    @activity.defn(name="holdfast.tools.run")
    async def run(self, request: RunRequest) -> CallResult:
        """Claim the call, run or recover its effect, and store its outcome."""
        fence = fence_of(request)
        async with heartbeats():
            try:
                return await self.attempt_or_give_up(request, fence)
            except StaleFence as stale:
                raise await log_refused_write(self.database, request.session, request.call, fence, stale) from stale

    @activity.defn(name="holdfast.tools.refuse")
    async def refuse(self, request: RefuseRequest) -> CallResult:
        """Settle a call that does not run, with the reason in words that models know."""
        async with count_faults(self.database, request, "this refusal", request.call):
            return await self.settle_refused(request)

    async def settle_refused(self, request: RefuseRequest) -> CallResult:
        async with session_journal(self.database, request.session, WORKER, epoch=request.epoch) as journal:
            call = await calls.lock(journal, request.call)
            if call.state is CallState.PREPARED and request.no_steps_left:
                text = render_prompt("tools/no_steps_left")
                calls.settle(journal, call, CallState.REFUSED, Outcome(output=text, error=True))
            elif call.state is CallState.PREPARED:
                evaluator = await load_evaluator(journal, (await turns.turn_status(journal, request.turn)).turn_config)
                message = (*evaluator.findings(call), evaluator.guard(call))
                denied = [finding.permission for finding in message if finding.action is Action.DENY]
                text = refusals.denial_text(denied[0] if denied else call.tool, evaluator.rules)
                calls.settle(journal, call, CallState.REFUSED, Outcome(output=text, error=True))
        return CallResult(state=CallResultState.SETTLED)

    async def attempt_or_give_up(self, request: RunRequest, fence: Fence) -> CallResult:
        """Settle the call; give it up where our own code keeps failing."""
        counting = partial(count_faults, self.database, request, "this call", request.call)
        try:
            async with counting():
                return await self.attempt(request, fence)
        except GivenUp as given_up:
            async with counting():  # a failure here ends the turn
                return await self.give_up(request, fence, given_up.text)

    async def give_up(self, request: RunRequest, fence: Fence, message: str) -> CallResult:
        """Settle a call that keeps failing: failed if it has not begun, else ended with an unknown outcome."""
        problem = ToolError(f"{message}. The call has not run.")
        held, _ = await retry_while_unavailable(lambda: self.claim(request, fence, problem))
        if not isinstance(held, Claimed):
            return unclaimed_result(held)
        await stop_claimed_call(self.call_contexts, held.call, fence, given_up=message)
        await self.settle(held.call, fence, CallState.UNKNOWN, unknown_outcome(held.call, message))
        return CallResult(state=CallResultState.SETTLED)

    async def attempt(self, request: RunRequest, fence: Fence) -> CallResult:
        await failpoint("tool.before_claim", request.call)
        call, call_environment, cached = await calls.take(self.database, request.call)
        tool_call: ClaimedCall | None = None
        problem: ToolError | None = None
        try:
            tool_call = None if call.settled else await self.call_contexts.build(call, call_environment, fence)
        except ToolError as error:
            problem = error

        async def plan_and_claim() -> tuple[ClaimResult, SessionVersion | None]:
            """Plans again on each try: files may change while the database is away."""
            plan = await plan_now(tool_call) if tool_call and call.state is CallState.PREPARED else problem
            return await self.claim(request, fence, plan, call, cached)

        held, version = await retry_while_unavailable(plan_and_claim)
        match held:
            case Claimed() if tool_call is not None:
                await failpoint("tool.claimed", request.call)
                return await self.carry_out(tool_call, held, fence, version)
            case Claimed():
                await self.settle(held.call, fence, CallState.UNKNOWN, unknown_outcome(held.call, str(problem)))
                return CallResult(state=CallResultState.SETTLED)
            case _:
                return unclaimed_result(held)

    async def claim(
        self,
        request: RunRequest,
        fence: Fence,
        plan: Plan | ToolError | None,
        call: CallRow | None = None,
        cached: CachedEvidence | None = None,
    ) -> tuple[ClaimResult, SessionVersion | None]:
        """The claim, and the session's version after it where no other writer is expected."""
        machine = self.call_contexts.machine

        async def as_seen(journal: Journal) -> ClaimResult:
            return await claim_unchanged(journal, request, fence, machine, plan, call, cached)

        async def read_first(journal: Journal) -> ClaimResult:
            return await claim(journal, request, fence, machine, plan)

        open_journal = partial(session_journal, self.database, request.session, WORKER, epoch=request.epoch)
        return await write_optimistically(open_journal, cached.version if cached else None, as_seen, read_first)

    async def carry_out(
        self, tool_call: ClaimedCall, held: Claimed, fence: Fence, version: SessionVersion | None
    ) -> CallResult:
        """Run the effect and store its outcome. A stop ends the effect, which is an outcome too."""
        try:
            done = await run_effect(tool_call, held, self.call_contexts.machine)
        except asyncio.CancelledError:
            if not stop_requested():
                raise
            # A stop that arrives by the other way must not interrupt this.
            await finish_despite_cancel(self.stop_and_settle(tool_call, held, fence), grace=None)
            raise
        await failpoint("tool.effect_done", tool_call.call.id)
        if isinstance(done, Delegated):
            return CallResult(state=CallResultState.DELEGATED, child=done.child, agent=done.agent)
        state, outcome = done
        await finish_despite_cancel(self.settle(held.call, fence, state, outcome, version))
        await failpoint("tool.committed", tool_call.call.id)
        return CallResult(state=CallResultState.SETTLED)

    async def stop_and_settle(self, tool_call: ClaimedCall, held: Claimed, fence: Fence) -> None:
        """End the effect of a stopped call and store its partial result."""
        state, outcome = await stop_effect(tool_call, claimed_plan(held.call))
        await finish_within_grace(self.settle(held.call, fence, state, outcome))

    async def settle(
        self, call: CallRow, fence: Fence, state: CallState, outcome: Outcome, version: SessionVersion | None = None
    ) -> None:
        """Store the outcome if this attempt still holds the claim. `version`: the session's after the claim."""
        await retry_while_unavailable(lambda: self.write_outcome(call, fence, state, outcome, version))

    async def write_outcome(
        self, call: CallRow, fence: Fence, state: CallState, outcome: Outcome, version: SessionVersion | None
    ) -> None:
        async def as_seen(journal: Journal) -> None:
            calls.settle(journal, call, state, outcome)
            deltas.delete(journal, call.id)

        async def read_first(journal: Journal) -> None:
            row = await calls.lock(journal, call.id)
            if row.fence != fence:
                raise StaleFence(f"Call {call.id!r} is held by {row.fence}; the outcome of {fence} is refused.")
            if not row.settled:
                calls.settle(journal, row, state, outcome)
                deltas.delete(journal, call.id)

        open_journal = partial(
            session_journal, self.database, call.session, WORKER, epoch=fence.epoch, needs_newest=False
        )
        await write_optimistically(open_journal, version, as_seen, read_first)


async def plan_now(tool_call: ClaimedCall) -> Plan | ToolError:
    """The current plan, or the ToolError that prevents it."""
    try:
        return await tool_call.plan()
    except ToolError as error:
        return error


async def run_effect(tool_call: ClaimedCall, held: Claimed, machine: str) -> tuple[CallState, Outcome] | Delegated:
    """Run or recover a claimed call; the tool's exception becomes the model's error.

    The engine retries unexpected errors of re-attachable tools: the effect may still be running.
    """
    if claimed_plan(held.call).effect.unchecked and not tool_call.tool.may_run_unchecked:
        return CallState.FAILED, Outcome(output=unchecked_text(claimed_plan(held.call)), error=True)
    recover = held.needs_recovery and tool_call.tool.recovery not in _REPEATABLE
    if recover and tool_call.tool.machine_bound and held.call.machine != machine:
        return CallState.UNKNOWN, unknown_outcome(held.call, OTHER_MACHINE)
    work = tool_call.tool.recover if recover else tool_call.tool.run
    try:
        output = await work(tool_call.params, claimed_plan(held.call), tool_call.context)
    except Exception as error:
        return outcome_of_error(tool_call, held.call, error)
    return (
        output if isinstance(output, Delegated) else (CallState.DONE, await truncate_output(output, tool_call.context))
    )


def outcome_of_error(tool_call: ClaimedCall, call: CallRow, error: Exception) -> tuple[CallState, Outcome]:
    """The outcome for a tool's exception; re-raises what is none."""
    match error:
        case ToolError():
            return CallState.FAILED, Outcome(
                output=str(error), error=True, metadata=error.metadata, changes=error.changes
            )
        case CallStopped():
            metadata = {**error.metadata, "interrupted": True}
            return CallState.CANCELLED, Outcome(output=str(error), error=True, metadata=metadata, changes=error.changes)
        case OutcomeUnknown():
            return CallState.UNKNOWN, unknown_outcome(call, str(error))
    if isinstance(error, HoldfastError) or tool_call.tool.recovery is Recovery.REATTACHABLE:
        raise error
    _LOG.error("tool %s failed unexpectedly in call %s", tool_call.tool.name, call.id, exc_info=error)
    message = f"{type(error).__name__}: {error}"[:2000]
    if tool_call.tool.recovery in _REPEATABLE:
        return CallState.FAILED, Outcome(output=message, error=True)
    return CallState.UNKNOWN, unknown_outcome(call, message)


async def stop_claimed_call(
    call_contexts: CallContextFactory, call: CallRow, fence: Fence, given_up: str | None = None
) -> tuple[CallState, Outcome]:
    """End what a claimed call still runs; return its state and outcome. `given_up`: why it is not retried; a failure
    here makes the outcome unknown."""
    try:
        _, call_environment = await calls.read(call_contexts.database, call.id)
        tool_call = await call_contexts.build(call, call_environment, fence)
        if tool_call.tool.machine_bound and call.machine != call_contexts.machine:
            return CallState.UNKNOWN, unknown_outcome(call, OTHER_MACHINE)
        return await stop_effect(tool_call, claimed_plan(call))
    except ToolError as error:
        return CallState.UNKNOWN, unknown_outcome(call, str(error))
    except EXPECTED_ERRORS:
        raise
    except Exception as error:
        if given_up is None:
            raise
        _LOG.exception("call %s could not be ended", call.id)
        return CallState.UNKNOWN, unknown_outcome(call, f"{given_up}; ending it: {type(error).__name__}: {error}")


async def stop_effect(tool_call: ClaimedCall, plan: Plan) -> tuple[CallState, Outcome]:
    """End what a stopped call still runs; return its partial result."""
    if plan.effect.unchecked and not tool_call.tool.may_run_unchecked:
        return CallState.CANCELLED, aborted_outcome()
    try:
        output = await tool_call.tool.stop(tool_call.params, plan, tool_call.context)
    except OutcomeUnknown as unknown:
        return CallState.UNKNOWN, unknown_outcome(tool_call.call, str(unknown))
    if output is None:
        return CallState.CANCELLED, aborted_outcome()
    done = tool_call.tool.recovery is Recovery.RECONCILABLE
    return CallState.DONE if done else CallState.CANCELLED, await truncate_output(output, tool_call.context)


def unchecked_text(plan: Plan) -> str:
    """Why an allowed but unchecked call did not run: its tool needs the check's result."""
    return f"{plan.requests[0].opaque} It has not run."


def claimed_plan(call: CallRow) -> Plan:
    """No claim exists without a plan."""
    if call.plan is None:
        raise RuntimeError(f"Call {call.id!r} has a claim and no plan.")
    return call.plan


def aborted_outcome() -> Outcome:
    """The outcome of a stopped call without output."""
    return Outcome(output=ABORTED, error=True, metadata={"interrupted": True})


def unknown_outcome(call: CallRow, known: str) -> Outcome:
    """The outcome of an effect that may have happened: what is known, and to check before repeating."""
    started = f"{call.claimed_at:%Y-%m-%d %H:%M:%S %Z}" if call.claimed_at else "at an unknown time"
    what = f"{call.tool} {dumps(call.arguments)}"[:2000]
    text = render_prompt("reminders/outcome_unknown", call=what, started=started, known=known)
    return Outcome(output=text, error=True, metadata={"unknown": True})


def unclaimed_result(held: AlreadySettled | Undecided | TurnOver | Suspended) -> CallResult:
    """The result of a call that may not begin."""
    match held:
        case AlreadySettled(rejected=True):
            return CallResult(state=CallResultState.REJECTED)
        case Undecided():
            return undecided_result(held)
        case Suspended():
            return CallResult(state=CallResultState.SUSPENDED)
        case TurnOver():
            return CallResult(state=CallResultState.SETTLED, stopped=True)
    return CallResult(state=CallResultState.SETTLED)


def undecided_result(held: Undecided) -> CallResult:
    """Send the call back to the gate with its current findings."""
    return CallResult(
        state=CallResultState.WAITING if held.waiting else CallResultState.DRIFTED,
        findings=held.findings,
        effect_digest=held.call.short_digest,
        revision=held.call.revision,
    )


async def log_refused_write(
    database: Database, session: SessionId, what: str, fence: Fence, stale: StaleFence
) -> StaleFence | ApplicationError:
    """Log that a stale attempt was refused; returns its error. A forged epoch may come any number of times."""
    if isinstance(stale, UnknownEpoch):
        return stale
    async with session_journal(database, session, WORKER) as journal:
        await journal.locked()
        journal.record(WriteRefused(target=what, fence=fence))
    return ApplicationError(str(stale), type="StaleFence", non_retryable=True)
