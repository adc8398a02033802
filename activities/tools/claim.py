"""The claim: the decision is checked against the rows and recorded, before the effect."""

from dataclasses import dataclass
from typing import TypeAlias

from activities.session.judging import Judge, judge
from activities.store import asks, calls, grants, turns
from activities.store.asks import AskRow
from activities.store.calls import CallRow
from activities.store.journal import Journal
from activities.store.turns import TurnStanding
from workflows.domain.effects import Plan
from workflows.domain.errors import StaleFence, ToolError
from workflows.domain.events import BellWithoutAnswer, Decision
from workflows.domain.messages import CallState, Outcome
from workflows.domain.permissions import refusals
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.rules import Action
from workflows.domain.state import GUARD
from workflows.domain.wire import AskState, Fence, RunRequest


@dataclass(frozen=True)
class Claimed:
    """The effect is this attempt's: to be run, or recovered when an earlier attempt may have begun it."""

    call: CallRow
    recovered: bool


@dataclass(frozen=True)
class Stored:
    """The call has its outcome; `rejected`: a person said no without a word, which ends the turn."""

    rejected: bool = False


@dataclass(frozen=True)
class Undecided:
    """Nobody has decided on what the call would do now; `waiting`: its ask is still open."""

    call: CallRow
    findings: tuple[Finding, ...]
    waiting: bool = False


@dataclass(frozen=True)
class Over:
    """The turn has ended or is being stopped: nothing is claimed any more, closing the turn settles the call."""


Claim: TypeAlias = Claimed | Stored | Undecided | Over


async def claim(opened: Journal, request: RunRequest, fence: Fence, plan: Plan | ToolError | None) -> Claim:
    """Claim a call for an attempt. `plan` is what the call would do now (None: it was claimed before).

    Raises StaleFence when a higher fence holds the claim.
    """
    call = await calls.lock(opened, request.call)
    if call.settled:
        return Stored(rejected=call.state is CallState.REFUSED and await calls.any_rejected(opened, call.turn))
    standing = await turns.standing(opened, request.turn)
    if call.state is CallState.CLAIMED and call.fence is not None:
        return await _again(opened, call, fence, standing)
    if standing.over or opened.ended or plan is None:
        return Over()
    return await _first(opened, request, fence, call, plan, standing)


async def _again(opened: Journal, call: CallRow, fence: Fence, standing: TurnStanding) -> Claim:
    """Take a claim over from a lower attempt; one's own is a commit whose answer was lost."""
    if call.fence is not None and call.fence > fence:
        raise StaleFence(f"Call {call.id!r} is claimed by a later attempt, {tuple(call.fence)} > {tuple(fence)}.")
    if call.fence == fence:
        return Claimed(call, recovered=False)
    if standing.over:
        return Over()
    await calls.reclaim(opened, call, fence, standing.snapshot)
    return Claimed(call, recovered=True)


async def _first(
    opened: Journal, request: RunRequest, fence: Fence, call: CallRow, plan: Plan | ToolError, standing: TurnStanding
) -> Claim:
    known = await asks.of_call(opened, call)
    no = next((ask for ask in known if ask.rejected), None)
    if no is not None:
        return await _rejected(opened, call, no)
    if isinstance(plan, ToolError):
        await calls.settle(opened, call, CallState.FAILED, Outcome(output=str(plan), error=True))
        return Stored()
    by = await judge(opened, standing.snapshot)
    if any(ask.state is AskState.OPEN for ask in known):
        opened.record(BellWithoutAnswer(call=call.id))
        return Undecided(call, by.findings(call), waiting=True)
    if plan.effect.digest != call.digest:
        decided = any(ask.request != GUARD for ask in known) or any(each.grant for each in by.findings(call))
        call = await calls.drift(opened, call, plan)
        known = [ask for ask in known if ask.request == GUARD]
        if decided:
            return Undecided(call, by.findings(call))
    return await _decided(opened, request, fence, call, known, by, standing)


async def _decided(
    opened: Journal,
    request: RunRequest,
    fence: Fence,
    call: CallRow,
    known: list[AskRow],
    by: Judge,
    standing: TurnStanding,
) -> Claim:
    """Record the claim with the decision on each request, if there is one on each."""
    findings = by.findings(call)
    denied = next((finding for finding in findings if finding.action is Action.DENY), None)
    if denied is not None:
        text = refusals.denied(denied.permission, by.rules)
        await calls.settle(opened, call, CallState.REFUSED, Outcome(output=text, error=True))
        return Stored()
    if any(ask.by_grant and ask.by_grant not in {grant.id for grant in by.live} for ask in known):
        call = await calls.drift(opened, call, call.plan)  # revoked since: the answer does not hold, a new ask does
        return Undecided(call, findings)
    due = {GUARD: by.guard(call), **dict(enumerate(findings))} if request.guarded else dict(enumerate(findings))
    answers = {ask.request: ask for ask in known if ask.allowed}
    decisions = [_decision(finding, answers.get(index)) for index, finding in due.items()]
    if any(decision is None for decision in decisions):
        return Undecided(call, findings)
    made = tuple(decision for decision in decisions if decision is not None)
    await calls.claim(opened, call, fence, standing.snapshot, made)
    for decision in made:
        if decision.grant is not None:
            await grants.used(opened, decision.grant)
    return Claimed(call, recovered=False)


def _decision(finding: Finding, answer: AskRow | None) -> Decision | None:
    """Who decided one request: a person, a grant or a rule; None: nobody yet."""
    if answer is not None:
        return Decision(permission=finding.permission, by="answer", ask=answer.id, author=answer.author)
    if finding.action is not Action.ALLOW:
        return None
    if finding.grant is not None:
        return Decision(permission=finding.permission, by="grant", grant=finding.grant)
    return Decision(permission=finding.permission, by="rule", rule=finding.rule)


async def _rejected(opened: Journal, call: CallRow, ask: AskRow) -> Stored:
    text = refusals.corrected(ask.feedback) if ask.feedback else refusals.REJECTED
    await calls.settle(opened, call, CallState.REFUSED, Outcome(output=text, error=True))
    return Stored(rejected=ask.feedback is None)
