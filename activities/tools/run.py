"""Tools.run and Tools.refuse: claim, effect, outcome, by the ledger."""

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.failpoints import failpoint
from activities.giving_up import NO_FAULT, GivenUp, counting_faults
from activities.heartbeat import beating
from activities.session.judging import EFFECT_DIGITS, judge
from activities.stopping import stop_requested
from activities.store import calls, deltas, turns
from activities.store.calls import CallRow, FreshCall
from activities.store.database import Database, dumps
from activities.store.journal import WORKER, Place, journal
from activities.store.outages import Moved
from activities.store.persistence import persistently, to_its_end, within_grace
from activities.tools.claim import Claim, Claimed, Over, Parked, Stored, Undecided, claim, claim_fresh
from activities.tools.output import shortened
from activities.tools.tool import ABORTED, GoesOn, Stopped, Unknown
from activities.tools.workshop import Job, Workshop
from prompts import load
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import HoldfastError, StaleFence, ToolError
from workflows.domain.events import WriteRefused
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.permissions import refusals
from workflows.domain.permissions.rules import Action
from workflows.domain.wire import Fence, Ran, RanState, RefuseRequest, RunRequest

ELSEWHERE: Final = "It began on another machine, which is gone, and whose files and processes cannot be seen here."
_RUN_AGAIN: Final = (Recovery.REPEATABLE, Recovery.IDEMPOTENT)
_LOG: Final = logging.getLogger("holdfast.tools")


class Tools:
    """Brings a call to its one outcome. What a second attempt may do is the table of reliability.md 6."""

    def __init__(self, database: Database, workshop: Workshop) -> None:
        self.database = database
        self.workshop = workshop

    @activity.defn(name="holdfast.tools.run")
    async def run(self, request: RunRequest) -> Ran:
        """Claim the call, carry it out (or find out what an earlier attempt did), and write its outcome."""
        fence = request.fence(activity.info().attempt)
        async with beating():
            try:
                return await self.attempt_or_give_up(request, fence)
            except StaleFence as stale:
                await refused_write(self.database, request.session, request.call, fence)
                raise ApplicationError(str(stale), type="StaleFence", non_retryable=True) from stale

    @activity.defn(name="holdfast.tools.refuse")
    async def refuse(self, request: RefuseRequest) -> Ran:
        """Give a call that is not carried out its outcome: why, in the words that models know."""
        async with counting_faults(self.database, request, "this refusal", request.call):
            return await self.settle_refused(request)

    async def settle_refused(self, request: RefuseRequest) -> Ran:
        async with journal(self.database, request.session, WORKER, chain_start=request.chain) as opened:
            call = await calls.lock(opened, request.call)
            if call.state is CallState.PREPARED and request.no_steps_left:
                text = load("tools/no_steps_left")
                calls.settle(opened, call, CallState.REFUSED, Outcome(output=text, error=True))
            elif call.state is CallState.PREPARED:
                by = await judge(opened, (await turns.standing(opened, request.turn)).snapshot)
                said = (*by.findings(call), by.guard(call))
                denied = [finding.permission for finding in said if finding.action is Action.DENY]
                text = refusals.denied(denied[0] if denied else call.tool, by.rules)
                calls.settle(opened, call, CallState.REFUSED, Outcome(output=text, error=True))
        return Ran(state=RanState.SETTLED)

    async def attempt_or_give_up(self, request: RunRequest, fence: Fence) -> Ran:
        """Bring the call to its outcome, by giving it up where our own code keeps failing."""
        counting = partial(counting_faults, self.database, request, "this call", request.call)
        try:
            async with counting():
                return await self.attempt(request, fence)
        except GivenUp as given_up:
            async with counting():  # what fails here too ends the turn
                return await self.give_up(request, fence, given_up.text)

    async def give_up(self, request: RunRequest, fence: Fence, said: str) -> Ran:
        """Settle a call that keeps failing. It fails where it has not begun; else it is ended, and its outcome is
        unknown."""
        problem = ToolError(f"{said}. The call has not run.")
        held, _ = await persistently(lambda: self.claim(request, fence, problem, None))
        if not isinstance(held, Claimed):
            return not_begun(held)
        await end_claimed(self.workshop, held.call, fence, given_up=said)
        await self.settle(held.call, fence, CallState.UNKNOWN, unknown_outcome(held.call, said))
        return Ran(state=RanState.SETTLED)

    async def attempt(self, request: RunRequest, fence: Fence) -> Ran:
        await failpoint("tool.before_claim", request.call)
        fresh = calls.take_fresh(self.database, request.call)
        call, context = await calls.seen(self.database, request.call, fresh)
        job: Job | None = None
        problem: ToolError | None = None
        try:
            job = None if call.settled else await self.workshop.job(call, context, fence)
        except ToolError as error:
            problem = error

        async def claimed() -> tuple[Claim, Place | None]:
            """The claim, by a plan of now: files may change while the database is away."""
            planned = await plan_now(job) if job and call.state is CallState.PREPARED else problem
            return await self.claim(request, fence, planned, fresh)

        held, place = await persistently(claimed)
        match held:
            case Claimed() if job is not None:
                await failpoint("tool.claimed", request.call)
                return await self.carry_out(job, held, fence, place)
            case Claimed():
                await self.settle(held.call, fence, CallState.UNKNOWN, unknown_outcome(held.call, str(problem)))
                return Ran(state=RanState.SETTLED)
            case _:
                return not_begun(held)

    async def claim(
        self, request: RunRequest, fence: Fence, plan: Plan | ToolError | None, fresh: FreshCall | None
    ) -> tuple[Claim, Place | None]:
        """The claim, and the place where it has left the session, if nobody else is expected to write there."""
        open_journal = partial(journal, self.database, request.session, WORKER, chain_start=request.chain)
        if fresh is not None and fresh.place is not None and isinstance(plan, Plan):
            with suppress(Moved):
                async with open_journal(held=fresh.place) as opened:
                    claimed = await claim_fresh(opened, request, fence, self.workshop.machine, plan, fresh)
                return claimed, opened.left
        async with open_journal() as opened:
            return await claim(opened, request, fence, self.workshop.machine, plan), None

    async def carry_out(self, job: Job, held: Claimed, fence: Fence, place: Place | None) -> Ran:
        """The effect, then its outcome; a stop ends the effect and is an outcome too."""
        try:
            done = await effect(job, held, self.workshop.machine)
        except asyncio.CancelledError:
            if not stop_requested():
                raise
            # The other way in which a stop comes must not cut it short.
            await to_its_end(self.end(job, held, fence), grace=None)
            raise
        await failpoint("tool.effect_done", job.call.id)
        if isinstance(done, GoesOn):
            return Ran(state=RanState.STARTED, child=done.child, agent=done.agent)
        state, outcome = done
        await to_its_end(self.settle(held.call, fence, state, outcome, place))
        await failpoint("tool.committed", job.call.id)
        return Ran(state=RanState.SETTLED)

    async def end(self, job: Job, held: Claimed, fence: Fence) -> None:
        """End the effect of a stopped call, and write what it got so far."""
        state, outcome = await stopped(job, plan_of(held.call))
        await within_grace(self.settle(held.call, fence, state, outcome))

    async def settle(
        self, call: CallRow, fence: Fence, state: CallState, outcome: Outcome, place: Place | None = None
    ) -> None:
        """Write the outcome, if this attempt still holds the claim; `place` is where the claim has left the session."""
        await persistently(lambda: self.write(call, fence, state, outcome, place))

    async def write(self, call: CallRow, fence: Fence, state: CallState, outcome: Outcome, place: Place | None) -> None:
        open_journal = partial(journal, self.database, call.session, WORKER, chain_start=fence.chain)
        if place is not None:
            with suppress(Moved):
                async with open_journal(held=place) as opened:
                    calls.settle(opened, call, state, outcome)
                    deltas.drop(opened, call.id)
                return
        async with open_journal() as opened:
            row = await calls.lock(opened, call.id)
            if row.fence != fence:
                raise StaleFence(f"Call {call.id!r} is held by {row.fence}; the outcome of {fence} is refused.")
            if not row.settled:
                calls.settle(opened, row, state, outcome)
                deltas.drop(opened, call.id)


async def plan_now(job: Job) -> Plan | ToolError:
    """What the call would do, or why it cannot be carried out."""
    try:
        return await job.plan()
    except ToolError as error:
        return error


async def effect(job: Job, held: Claimed, machine: str) -> tuple[CallState, Outcome] | GoesOn:
    """Run or recover a claimed call; whatever a tool raises becomes what the model reads.

    What a re-attachable tool raises unexpectedly is the engine's to try again: its effect may still be running.
    """
    if plan_of(held.call).effect.unchecked and not job.tool.runs_unchecked:
        return CallState.FAILED, Outcome(output=unchecked(plan_of(held.call)), error=True)
    again = held.recovered and job.tool.recovery not in _RUN_AGAIN
    if again and job.tool.bound and held.call.machine != machine:
        return CallState.UNKNOWN, unknown_outcome(held.call, ELSEWHERE)
    work = job.tool.recover if again else job.tool.run
    try:
        output = await work(job.params, plan_of(held.call), job.around)
    except Exception as error:
        return failed(job, held.call, error)
    return output if isinstance(output, GoesOn) else (CallState.DONE, await shortened(output, job.around))


def failed(job: Job, call: CallRow, error: Exception) -> tuple[CallState, Outcome]:
    """The outcome of a call whose tool has raised. What is not an outcome is raised again."""
    match error:
        case ToolError():
            return CallState.FAILED, Outcome(output=str(error), error=True, metadata=error.metadata)
        case Stopped():
            metadata = {**error.metadata, "interrupted": True}
            return CallState.CANCELLED, Outcome(output=str(error), error=True, metadata=metadata)
        case Unknown():
            return CallState.UNKNOWN, unknown_outcome(call, str(error))
    if isinstance(error, HoldfastError) or job.tool.recovery is Recovery.REATTACHABLE:
        raise error
    _LOG.error("tool %s failed unexpectedly in call %s", job.tool.name, call.id, exc_info=error)
    said = f"{type(error).__name__}: {error}"[:2000]
    if job.tool.recovery in _RUN_AGAIN:
        return CallState.FAILED, Outcome(output=said, error=True)
    return CallState.UNKNOWN, unknown_outcome(call, said)


async def end_claimed(
    workshop: Workshop, call: CallRow, fence: Fence, given_up: str | None = None
) -> tuple[CallState, Outcome]:
    """End what a claimed call still has running, and what can be said of it. `given_up`: why trying is of no use any
    more, so that what fails here makes the outcome unknown."""
    try:
        _, context = await calls.read(workshop.database, call.id)
        job = await workshop.job(call, context, fence)
        if job.tool.bound and call.machine != workshop.machine:
            return CallState.UNKNOWN, unknown_outcome(call, ELSEWHERE)
        return await stopped(job, plan_of(call))
    except ToolError as error:
        return CallState.UNKNOWN, unknown_outcome(call, str(error))
    except NO_FAULT:
        raise
    except Exception as error:
        if given_up is None:
            raise
        _LOG.exception("call %s could not be ended", call.id)
        return CallState.UNKNOWN, unknown_outcome(call, f"{given_up}; ending it: {type(error).__name__}: {error}")


async def stopped(job: Job, plan: Plan) -> tuple[CallState, Outcome]:
    """End what a stopped call still has running; says what it got so far."""
    if plan.effect.unchecked and not job.tool.runs_unchecked:
        return CallState.CANCELLED, aborted()
    try:
        output = await job.tool.stop(job.params, plan, job.around)
    except Unknown as unknown:
        return CallState.UNKNOWN, unknown_outcome(job.call, str(unknown))
    if output is None:
        return CallState.CANCELLED, aborted()
    done = job.tool.recovery is Recovery.RECONCILABLE
    return CallState.DONE if done else CallState.CANCELLED, await shortened(output, job.around)


def unchecked(plan: Plan) -> str:
    """Why a call was not run that a person has allowed: this tool works on what a check has found."""
    return f"{plan.requests[0].opaque} It has not run."


def plan_of(call: CallRow) -> Plan:
    """The plan under which a call was claimed: there is no claim without one."""
    if call.plan is None:
        raise StaleFence(f"Call {call.id!r} has a claim and no plan.")
    return call.plan


def aborted() -> Outcome:
    """The outcome of a call that was ended by a stop and has nothing to show."""
    return Outcome(output=ABORTED, error=True, metadata={"interrupted": True})


def unknown_outcome(call: CallRow, known: str) -> Outcome:
    """What is told of an effect that nobody can vouch for: the truth, and to look before repeating."""
    started = f"{call.claimed_at:%Y-%m-%d %H:%M:%S %Z}" if call.claimed_at else "at an unknown time"
    what = f"{call.tool} {dumps(call.arguments)}"[:2000]
    text = load("reminders/unknown", call=what, started=started, known=known)
    return Outcome(output=text, error=True, metadata={"unknown": True})


def not_begun(held: Stored | Undecided | Over | Parked) -> Ran:
    """What the workflow is told of a call that was not this attempt's to begin."""
    match held:
        case Stored(rejected=True):
            return Ran(state=RanState.REJECTED)
        case Undecided():
            return undecided(held)
        case Parked():
            return Ran(state=RanState.PARKED)
        case Over():
            return Ran(state=RanState.SETTLED, stopped=True)
    return Ran(state=RanState.SETTLED)


def undecided(held: Undecided) -> Ran:
    """The call goes back to the gate, with what the rules say of it now."""
    digest = held.call.digest
    return Ran(
        state=RanState.WAITING if held.waiting else RanState.DRIFTED,
        findings=held.findings,
        effect=digest[:EFFECT_DIGITS] if digest else None,
        revision=held.call.revision,
    )


async def refused_write(database: Database, session: SessionId, what: str, fence: Fence) -> None:
    """Say in the log that a stale attempt came and was refused."""
    async with journal(database, session, WORKER) as opened:
        await opened.locked()
        opened.record(WriteRefused(what=what, fence=fence))
