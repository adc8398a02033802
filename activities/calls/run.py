"""ToolActivities: claim, effect, outcome."""

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial

from temporalio import activity

from activities.activity_fence import fence_of, log_refused_writes
from activities.calls import outcomes
from activities.calls.claim import CallClaim, Claimed
from activities.calls.effect import CallEffect, CallEffects
from activities.calls.permissions import load_evaluator
from activities.failpoints import failpoint
from activities.fault_limit import GivenUp, count_faults
from activities.heartbeat import heartbeats
from activities.stop_interceptor import stop_requested
from activities.store import calls, turns
from activities.store.calls import CallRow
from activities.store.commit_retry import finish_despite_cancel, finish_within_grace, retry_while_unavailable
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, session_journal
from activities.tools.tool import Delegated, Waiting
from prompts import render_prompt
from workflows.domain.errors import ToolError
from workflows.domain.fence import Fence
from workflows.domain.messages import CallState, Outcome
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.permissions import permission_keys, refusals
from workflows.domain.permissions.rules import Action
from workflows.domain.wire import RefuseRequest, RunRequest


class ToolActivities:
    """Brings a call to its one outcome. reliability.md 6 says what a second attempt may do."""

    def __init__(self, database: Database, effects: CallEffects) -> None:
        self.database = database
        self.effects = effects

    @activity.defn(name="holdfast.tools.run")
    async def run(self, request: RunRequest) -> CallResult:
        """Settle the call; give it up where our own code keeps failing."""
        fence = fence_of(request)
        counting = partial(count_faults, self.database, request, "this call", request.call)
        async with heartbeats(), log_refused_writes(self.database, request, request.call):
            try:
                async with counting():
                    return await self.attempt(request, fence)
            except GivenUp as given_up:
                async with counting():  # a failure here ends the turn
                    return await self.give_up(request, fence, given_up.text)

    async def attempt(self, request: RunRequest, fence: Fence) -> CallResult:
        """Claim, effect, outcome: three commits, or one of a quick call. A stop ends the effect, which is an outcome
        too."""
        await failpoint("tool.before_claim", request.call)
        effect = await self.effects.open(request.call, fence)
        if activity.info().is_local:
            looked = await retry_while_unavailable(lambda: effect.look(self.database, request, fence))
            if looked is not None:
                await failpoint("tool.committed", request.call)
                return CallResult(state=CallResultState.SETTLED, gave_result=looked.gave_result)
        held = await retry_while_unavailable(lambda: effect.claim(self.database, request, fence))
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
        store = partial(calls.settle_claimed, self.database, held.call, fence, *done, version=held.version)
        await finish_despite_cancel(retry_while_unavailable(store))
        await failpoint("tool.committed", request.call)
        settled = held.call.model_copy(update={"state": done[0]})
        return CallResult(
            state=CallResultState.SETTLED,
            gave_result=settled.gave_result,
            as_planned=settled.made_as(request.revision),
        )

    async def stop_and_settle(self, effect: CallEffect, call: CallRow, fence: Fence) -> None:
        stopped = await effect.stop(call)
        store = partial(calls.settle_claimed, self.database, call, fence, *stopped)
        await finish_within_grace(retry_while_unavailable(store))

    async def give_up(self, request: RunRequest, fence: Fence, message: str) -> CallResult:
        """Settle a call that keeps failing: failed if it has not begun, else ended with an unknown outcome."""
        claim = CallClaim(request, fence, self.effects.machine, ToolError(f"{message}. The call has not run."))

        async def claim_to_fail() -> Claimed | CallResult:
            async with self.journal(request) as journal:
                return await claim.take(journal)

        held = await retry_while_unavailable(claim_to_fail)
        if not isinstance(held, Claimed):
            return held
        await self.effects.stop(held.call, fence, given_up=message)
        unknown = outcomes.unknown(held.call, message)
        await retry_while_unavailable(partial(calls.settle_claimed, self.database, held.call, fence, *unknown))
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

    def journal(self, request: RunRequest | RefuseRequest) -> AbstractAsyncContextManager[Journal]:
        return session_journal(self.database, request.session, WORKER, epoch=request.epoch)


async def refusal_text(journal: Journal, request: RefuseRequest, call: CallRow) -> str:
    """The turn has no steps left, or a rule denies the call."""
    turn_config = (await turns.turn_status(journal, request.turn)).turn_config
    config = await turns.turn_config(journal, turn_config)
    if request.no_steps_left:
        return render_prompt("tools/no_steps_left" if config.format is None else "tools/only_structured_output")
    evaluator = await load_evaluator(journal, turn_config)
    findings = (*evaluator.findings(call), evaluator.guard(call))
    denied = [finding.permission for finding in findings if finding.action is Action.DENY]
    if (config.agent.only_plans or config.agent.firm_rules) and denied[:1] == [permission_keys.EDIT]:
        needed = zip(call.plan.requests if call.plan else (), findings, strict=False)
        files = [file for each, finding in needed if finding.action is Action.DENY for file in each.patterns]
        name = "only_plans" if config.agent.only_plans else "only_looks"
        return render_prompt(f"tools/{name}", files=", ".join(files))
    return refusals.denial_text(denied[0] if denied else call.tool, evaluator.rules.flat)
