"""The claim: the decision is checked against the rows and recorded, before the effect."""

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from activities.session.judging import Judge
from activities.store import asks, calls, grants, turns
from activities.store.asks import AskRow
from activities.store.calls import CallRow, FreshCall
from activities.store.journal import Journal
from activities.store.outages import Moved
from activities.store.turns import TurnStanding
from workflows.domain.effects import Plan
from workflows.domain.errors import StaleFence, ToolError
from workflows.domain.events import BellWithoutAnswer, Decision
from workflows.domain.messages import CallState, Outcome
from workflows.domain.permissions import refusals
from workflows.domain.permissions.findings import Finding, finding
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


@dataclass(frozen=True)
class Docket:
    """What a call is decided by: its asks, the rules and live grants, and whether its loop guard had to be asked."""

    call: CallRow
    asks: list[AskRow]
    by: Judge
    guarded: bool

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.by.findings(self.call)

    @property
    def rejection(self) -> AskRow | None:
        return next((ask for ask in self.asks if ask.rejected), None)

    @property
    def waits(self) -> bool:
        return any(ask.state is AskState.OPEN for ask in self.asks)

    @property
    def void(self) -> bool:
        """Whether an answer does not hold: it was a grant's that has been revoked since, or one to another effect than
        the ledger has now."""
        live, digest = {grant.id for grant in self.by.live}, self.call.digest or ""
        revoked = any(ask.by_grant is not None and ask.by_grant not in live for ask in self.asks)
        return revoked or any(ask.allowed and ask.request != GUARD and ask.digest != digest for ask in self.asks)

    @property
    def decided_by_someone(self) -> bool:
        """Whether a person or a grant, not only rules, has decided on the effect."""
        return any(ask.request != GUARD for ask in self.asks) or any(each.grant for each in self.findings)

    def surprised_by(self, plan: Plan) -> bool:
        """Whether the same effect would now need something that nobody was asked and no rule allows: a name in a
        command may lead elsewhere by now. A call that could not be checked needs a yes, whatever the reason."""
        if plan.effect.unchecked:
            return False
        known = self.call.plan.requests if self.call.plan else ()
        new = (request for request in plan.requests if request not in known)
        return any(finding(request, self.by.rules, self.by.live).action is not Action.ALLOW for request in new)

    def drifted(self, call: CallRow) -> "Docket":
        """The docket of the call's new revision, for which only the loop guard's answer still holds."""
        return Docket(call, [ask for ask in self.asks if ask.request == GUARD], self.by, self.guarded)

    def decisions(self) -> tuple[Decision, ...] | None:
        """Who decided each request; None when somebody has yet to decide one."""
        due = dict(enumerate(self.findings))
        if self.guarded:
            due[GUARD] = self.by.guard(self.call)
        answers = {ask.request: ask for ask in self.asks if ask.allowed}
        made = [_decision(finding, answers.get(index)) for index, finding in sorted(due.items())]
        found = tuple(decision for decision in made if decision is not None)
        return found if len(found) == len(made) else None


@dataclass(frozen=True)
class Parked:
    """The session is parked: nothing begins, and nothing is taken over, before a person lets it go on."""


Claim: TypeAlias = Claimed | Stored | Undecided | Over | Parked


async def claim(
    opened: Journal, request: RunRequest, fence: Fence, machine: str, plan: Plan | ToolError | None
) -> Claim:
    """Claim a call for an attempt. `plan` is what the call would do now (None: it was claimed before).

    Raises StaleFence when a higher fence holds the claim.
    """
    call, standing, known, live = await asyncio.gather(
        calls.lock(opened, request.call),
        turns.standing(opened, request.turn),
        asks.of_call(opened, request.call),
        grants.live(opened),
    )
    if call.settled:
        return Stored(rejected=call.state is CallState.REFUSED and await calls.any_rejected(opened, call.turn))
    if opened.parked is not None and not (standing.over or opened.ended):
        return Parked()
    if call.state is CallState.CLAIMED and call.fence is not None:
        return _again(opened, call, fence, standing, first=plan is not None)
    if standing.over or opened.ended or plan is None:
        return Over()
    rules = (await turns.snapshot(opened, standing.snapshot)).rules
    docket = Docket(call, asks.counting(known, call), Judge(rules, live), request.guarded)
    return _first(opened, fence, machine, docket, plan, standing)


async def claim_fresh(
    opened: Journal, request: RunRequest, fence: Fence, machine: str, plan: Plan, fresh: FreshCall
) -> Claimed:
    """Claim a call of a held session that nothing has happened to since it was prepared, where rules decide alone.

    Raises Moved where anything else has a say: another session's grant, or its end, moves no log but its own.
    """
    rules = (await turns.snapshot(opened, fresh.snapshot)).rules
    docket = Docket(fresh.call, [], Judge(rules, fresh.live), request.guarded)
    decisions = docket.decisions()
    by_rules = decisions is not None and all(decision.by == "rule" for decision in decisions)
    drifted = plan.effect.digest != fresh.call.digest or docket.surprised_by(plan)
    if decisions is None or not by_rules or drifted or opened.ended or opened.parked is not None:
        raise Moved
    calls.claim(opened, fresh.call, fence, machine, fresh.snapshot, decisions)
    return Claimed(fresh.call, recovered=False)


def _again(opened: Journal, call: CallRow, fence: Fence, standing: TurnStanding, *, first: bool) -> Claim:
    """Take a claim over from a lower attempt; one's own is a commit whose acknowledgement was lost.

    `first`: this attempt planned the call, so its own claim was the first one and there is nothing to recover.
    """
    if call.fence is not None and call.fence > fence:
        raise StaleFence(f"Call {call.id!r} is claimed by a later attempt, {tuple(call.fence)} > {tuple(fence)}.")
    if call.fence == fence:
        return Claimed(call, recovered=not first)
    if standing.over:
        return Over()
    calls.reclaim(opened, call, fence, standing.snapshot)
    return Claimed(call, recovered=True)


def _first(
    opened: Journal, fence: Fence, machine: str, docket: Docket, plan: Plan | ToolError, standing: TurnStanding
) -> Claim:
    """Claim a prepared call, if everything that it would do now has been decided."""
    call = docket.call
    if docket.rejection is not None:
        return _rejected(opened, call, docket.rejection)
    if isinstance(plan, ToolError):
        calls.settle(opened, call, CallState.FAILED, Outcome(output=str(plan), error=True))
        return Stored()
    if docket.waits:
        opened.record(BellWithoutAnswer(call=call.id))
        return Undecided(call, docket.findings, waiting=True)
    if plan.effect.digest != call.digest or docket.surprised_by(plan):
        drifted = docket.drifted(calls.drift(opened, call, plan))
        if docket.decided_by_someone:
            return Undecided(drifted.call, drifted.findings)
        docket = drifted
    return _decided(opened, fence, machine, docket, standing)


def _decided(opened: Journal, fence: Fence, machine: str, docket: Docket, standing: TurnStanding) -> Claim:
    """Record the claim with the decision on each request, if there is one on each."""
    denied = next((finding for finding in docket.findings if finding.action is Action.DENY), None)
    if denied is not None:
        text = refusals.denied(denied.permission, docket.by.rules)
        calls.settle(opened, docket.call, CallState.REFUSED, Outcome(output=text, error=True))
        return Stored()
    if docket.void:  # a new revision asks anew
        return Undecided(calls.drift(opened, docket.call, docket.call.plan), docket.findings)
    decisions = docket.decisions()
    if decisions is None:
        return Undecided(docket.call, docket.findings)
    calls.claim(opened, docket.call, fence, machine, standing.snapshot, decisions)
    for grant in (decision.grant for decision in decisions if decision.grant is not None):
        grants.used(opened, grant)
    return Claimed(docket.call, recovered=False)


def _decision(finding: Finding, answer: AskRow | None) -> Decision | None:
    """Who decided one request: a person, a grant or a rule; None: nobody yet."""
    if answer is not None:
        return Decision(permission=finding.permission, by="answer", ask=answer.id, author=answer.author)
    if finding.action is not Action.ALLOW:
        return None
    if finding.grant is not None:
        return Decision(permission=finding.permission, by="grant", grant=finding.grant)
    return Decision(permission=finding.permission, by="rule", rule=finding.rule)


def _rejected(opened: Journal, call: CallRow, ask: AskRow) -> Stored:
    text = refusals.corrected(ask.feedback) if ask.feedback else refusals.REJECTED
    calls.settle(opened, call, CallState.REFUSED, Outcome(output=text, error=True))
    return Stored(rejected=ask.feedback is None)
