"""ToolActivities: claim, effect, outcome."""

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.activity_fence import fence_of
from activities.calls import outcomes
from activities.calls.claim import Claimed, claim, claim_unchanged
from activities.calls.context import CallContextFactory
from activities.calls.effect import CallEffect
from activities.calls.outcomes import Settlement
from activities.calls.permissions import load_evaluator
from activities.failpoints import failpoint
from activities.fault_limit import GivenUp, count_faults
from activities.heartbeat import heartbeats
from activities.stop_interceptor import stop_requested
from activities.store import calls, deltas, turns
from activities.store.calls import CallRow
from activities.store.commit_retry import finish_despite_cancel, finish_within_grace, retry_while_unavailable
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, SessionVersion, session_journal
from activities.store.optimistic import write_optimistically
from activities.tools.tool import Delegated, Waiting
from prompts import render_prompt
from workflows.domain.errors import StaleFence, ToolError, UnknownEpoch
from workflows.domain.events.calls import WriteRefused
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.permissions import refusals
from workflows.domain.permissions.rules import Action
from workflows.domain.wire import Fence, RefuseRequest, RunRequest


class ToolActivities:
    """Brings a call to its one outcome. reliability.md 6 says what a second attempt may do."""

    def __init__(self, database: Database, call_contexts: CallContextFactory) -> None:
        self.database = database
        self.call_contexts = call_contexts

    @activity.defn(name="holdfast.tools.run")
    async def run(self, request: RunRequest) -> CallResult:
        fence = fence_of(request)
        async with heartbeats():
            try:
                return await self.attempt_or_give_up(request, fence)
            except StaleFence as stale:
                raise await log_refused_write(self.database, request.session, request.call, fence, stale) from stale

    async def attempt_or_give_up(self, request: RunRequest, fence: Fence) -> CallResult:
        """Settle the call; give it up where our own code keeps failing."""
        counting = partial(count_faults, self.database, request, "this call", request.call)
        try:
            async with counting():
                return await self.attempt(request, fence)
        except GivenUp as given_up:
            async with counting():  # a failure here ends the turn
                return await self.give_up(request, fence, given_up.text)

    async def attempt(self, request: RunRequest, fence: Fence) -> CallResult:
        """Claim, effect, outcome: three commits. A stop ends the effect, which is an outcome too."""
        await failpoint("tool.before_claim", request.call)
        effect = await self.call_contexts.open(request.call, fence)
        held, version = await retry_while_unavailable(lambda: self.plan_and_claim(request, fence, effect))
        if not isinstance(held, Claimed):
            return held
        await failpoint("tool.claimed", request.call)
        try:
            done = await effect.run(held.call, recover=held.needs_recovery)
        except asyncio.CancelledError:
            if stop_requested():
                # A stop that arrives by the other way must not interrupt this.
                await finish_despite_cancel(self.stop_and_settle(effect, held.call, fence), grace=None)
            raise
        await failpoint("tool.effect_done", request.call)
        if isinstance(done, Delegated):
            return CallResult(state=CallResultState.DELEGATED, child=done.child, agent=done.agent)
        if isinstance(done, Waiting):
            return CallResult(state=CallResultState.DELEGATED, seconds=done.seconds)
        await finish_despite_cancel(self.settle(held.call, fence, done, version))
        await failpoint("tool.committed", request.call)
        settled = held.call.model_copy(update={"state": done[0]})
        return CallResult(state=CallResultState.SETTLED, gave_result=settled.gave_result)

    async def plan_and_claim(
        self, request: RunRequest, fence: Fence, effect: CallEffect
    ) -> tuple[Claimed | CallResult, SessionVersion | None]:
        """The claim, and the session's version after it where no other writer is expected.

        Plans again on each try: files may change while the database is away.
        """
        call, cached, machine = effect.call, effect.evidence, self.call_contexts.machine
        plan = await effect.plan() if call.state is CallState.PREPARED else None

        async def unchanged(journal: Journal) -> Claimed | CallResult:
            return await claim_unchanged(journal, request, fence, machine, plan, call, cached)

        async def by_rows(journal: Journal) -> Claimed | CallResult:
            return await claim(journal, request, fence, machine, plan)

        version = cached.version if cached else None
        return await write_optimistically(partial(self.journal, request), version, unchanged, by_rows)

    def journal(
        self, request: RunRequest | RefuseRequest, *, seen: SessionVersion | None = None
    ) -> AbstractAsyncContextManager[Journal]:
        return session_journal(self.database, request.session, WORKER, epoch=request.epoch, seen=seen)

    async def stop_and_settle(self, effect: CallEffect, call: CallRow, fence: Fence) -> None:
        await finish_within_grace(self.settle(call, fence, await effect.stop(call)))

    async def settle(
        self, call: CallRow, fence: Fence, settlement: Settlement, version: SessionVersion | None = None
    ) -> None:
        """Store the outcome if this attempt still holds the claim, however long the database is away. `version`: the
        session's after the claim."""

        async def unchanged(journal: Journal) -> None:
            calls.settle(journal, call, *settlement)
            deltas.delete(journal, call.id)

        async def by_row(journal: Journal) -> None:
            await calls.settle_claimed(journal, call.id, fence, *settlement)
            deltas.delete(journal, call.id)

        open_journal = partial(
            session_journal, self.database, call.session, WORKER, epoch=fence.epoch, needs_newest=False
        )
        await retry_while_unavailable(lambda: write_optimistically(open_journal, version, unchanged, by_row))

    async def give_up(self, request: RunRequest, fence: Fence, message: str) -> CallResult:
        """Settle a call that keeps failing: failed if it has not begun, else ended with an unknown outcome."""

        async def claim_to_fail() -> Claimed | CallResult:
            problem = ToolError(f"{message}. The call has not run.")
            async with self.journal(request) as journal:
                return await claim(journal, request, fence, self.call_contexts.machine, problem)

        held = await retry_while_unavailable(claim_to_fail)
        if not isinstance(held, Claimed):
            return held
        await self.call_contexts.stop(held.call, fence, given_up=message)
        await self.settle(held.call, fence, outcomes.unknown(held.call, message))
        return CallResult(state=CallResultState.SETTLED)

    @activity.defn(name="holdfast.tools.refuse")
    async def refuse(self, request: RefuseRequest) -> CallResult:
        """The reason is in words that models know."""
        async with (
            count_faults(self.database, request, "this refusal", request.call),
            self.journal(request) as journal,
        ):
            call = await calls.lock(journal, request.call)
            if call.state is CallState.PREPARED:
                text = await refusal_text(journal, request, call)
                calls.settle(journal, call, CallState.REFUSED, Outcome(output=text, error=True))
        return CallResult(state=CallResultState.SETTLED)


async def refusal_text(journal: Journal, request: RefuseRequest, call: CallRow) -> str:
    """The turn has no steps left, or a rule denies the call."""
    if request.no_steps_left:
        return render_prompt("tools/no_steps_left")
    evaluator = await load_evaluator(journal, (await turns.turn_status(journal, request.turn)).turn_config)
    findings = (*evaluator.findings(call), evaluator.guard(call))
    denied = [finding.permission for finding in findings if finding.action is Action.DENY]
    return refusals.denial_text(denied[0] if denied else call.tool, evaluator.rules)


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
