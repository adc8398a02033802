"""The claim: checks the decision against the rows and records it before the effect."""

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from activities.calls.permissions import PermissionEvaluator
from activities.store import asks, calls, grants, turns
from activities.store.asks import AskRow
from activities.store.calls import CachedEvidence, CallRow
from activities.store.generations import Suspended, TurnOver
from activities.store.journal import Journal
from activities.store.outages import VersionConflict
from activities.store.turns import TurnStatus
from workflows.domain.effects import Plan
from workflows.domain.errors import StaleFence, ToolError
from workflows.domain.events.asks import SignalWithoutAnswer
from workflows.domain.events.calls import RecordedDecision
from workflows.domain.messages import CallState, Outcome
from workflows.domain.permissions import refusals
from workflows.domain.permissions.findings import Finding, evaluate_request
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.rules import Action
from workflows.domain.wire import AskState, Fence, RunRequest


@dataclass(frozen=True)
class Claimed:
    """This attempt owns the effect; an earlier attempt may have begun it (`needs_recovery`)."""

    call: CallRow
    needs_recovery: bool


@dataclass(frozen=True)
class AlreadySettled:
    """`rejected`: a person refused the call without feedback, which ends the turn."""

    rejected: bool = False


@dataclass(frozen=True)
class Undecided:
    """The current effect is not decided; `waiting`: its ask is still open."""

    call: CallRow
    findings: tuple[Finding, ...]
    waiting: bool = False


@dataclass(frozen=True)
class ClaimEvidence:
    """What decides a call: asks, rules, live grants, and whether the loop guard had to ask."""

    call: CallRow
    asks: list[AskRow]
    evaluator: PermissionEvaluator
    loop_guarded: bool

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.evaluator.findings(self.call)

    @property
    def rejection(self) -> AskRow | None:
        return next((ask for ask in self.asks if ask.rejected), None)

    @property
    def awaits_answer(self) -> bool:
        return any(ask.state is AskState.OPEN for ask in self.asks)

    @property
    def has_void_answer(self) -> bool:
        """Whether an answer no longer holds: its grant was revoked, or it was for another effect."""
        live, digest = {grant.id for grant in self.evaluator.live}, self.call.digest or ""
        revoked = any(ask.by_grant is not None and ask.by_grant not in live for ask in self.asks)
        return revoked or any(
            ask.allowed and ask.request != GUARD_REQUEST and ask.digest != digest for ask in self.asks
        )

    @property
    def decided_by_person_or_grant(self) -> bool:
        """Whether a person or grant, not only rules, decided on the effect."""
        return any(ask.request != GUARD_REQUEST for ask in self.asks) or any(each.grant for each in self.findings)

    def has_new_requests(self, plan: Plan) -> bool:
        """Whether the same effect now needs something new that no rule allows: a name in a command may lead elsewhere.
        An unchecked call needs a person's yes anyway."""
        if plan.effect.unchecked:
            return False
        new = (request for request in plan.requests if request not in self.call.requests)
        return any(
            evaluate_request(request, self.evaluator.rules, self.evaluator.live).action is not Action.ALLOW
            for request in new
        )

    def after_drift(self, call: CallRow) -> "ClaimEvidence":
        """For the call's new revision: only the loop guard's answer still holds."""
        return ClaimEvidence(
            call, [ask for ask in self.asks if ask.request == GUARD_REQUEST], self.evaluator, self.loop_guarded
        )

    def decisions(self) -> tuple[RecordedDecision, ...] | None:
        """Who decided each request; None while one is undecided."""
        due = dict(enumerate(self.findings))
        if self.loop_guarded:
            due[GUARD_REQUEST] = self.evaluator.guard(self.call)
        answers = {ask.request: ask for ask in self.asks if ask.allowed}
        made = [_decision_on(finding, answers.get(index)) for index, finding in sorted(due.items())]
        found = tuple(decision for decision in made if decision is not None)
        return found if len(found) == len(made) else None


ClaimResult: TypeAlias = Claimed | AlreadySettled | Undecided | TurnOver | Suspended


async def claim(
    journal: Journal, request: RunRequest, fence: Fence, machine: str, plan: Plan | ToolError | None
) -> ClaimResult:
    """`plan`: what the call would do now (None: it was claimed before).

    Raises StaleFence when a higher fence holds the claim.
    """
    call, turn_status, known, live = await asyncio.gather(
        calls.lock(journal, request.call),
        turns.turn_status(journal, request.turn),
        asks.of_call(journal, request.call),
        grants.list_live(journal),
    )
    if call.settled:
        return AlreadySettled(rejected=call.state is CallState.REFUSED and await asks.any_rejected(journal, call.turn))
    if journal.suspension is not None and not (turn_status.over or journal.ended):
        return Suspended()
    if call.state is CallState.CLAIMED and call.fence is not None:
        return _reclaim(journal, call, fence, turn_status, first=plan is not None)
    if turn_status.over or journal.ended or plan is None:
        return TurnOver()
    rules = (await turns.turn_config(journal, turn_status.turn_config)).rules
    evidence = ClaimEvidence(
        call, asks.relevant_to(known, call), PermissionEvaluator(rules, live), request.loop_guarded
    )
    return _claim_prepared(journal, fence, machine, evidence, plan, turn_status)


async def claim_unchanged(
    journal: Journal,
    request: RunRequest,
    fence: Fence,
    machine: str,
    plan: Plan | ToolError | None,
    call: CallRow | None,
    cached: CachedEvidence | None,
) -> Claimed:
    """Claim a call in a session unchanged since it was prepared, where rules alone decide.

    Raises VersionConflict otherwise: another session's grant or its revocation changes only that session's log.
    """
    if call is None or cached is None or not isinstance(plan, Plan):
        raise VersionConflict
    rules = (await turns.turn_config(journal, cached.turn_config)).rules
    evidence = ClaimEvidence(call, [], PermissionEvaluator(rules, cached.live), request.loop_guarded)
    decisions = evidence.decisions()
    by_rules = decisions is not None and all(decision.by == "rule" for decision in decisions)
    drifted = plan.effect.digest != call.digest or evidence.has_new_requests(plan)
    if decisions is None or not by_rules or drifted or journal.ended or journal.suspension is not None:
        raise VersionConflict
    calls.claim(journal, call, fence, machine, cached.turn_config, decisions)
    return Claimed(call, needs_recovery=False)


def _reclaim(journal: Journal, call: CallRow, fence: Fence, turn_status: TurnStatus, *, first: bool) -> ClaimResult:
    """Take over a lower attempt's claim. If this attempt holds the claim, only its commit's acknowledgement was lost.

    `first`: this attempt planned the call, so there is nothing to recover.
    """
    if not fence.may_take(call.fence):
        raise StaleFence(f"Call {call.id!r} is claimed by a later attempt: {call.fence}, this one is {fence}.")
    if call.fence == fence:
        return Claimed(call, needs_recovery=not first)
    if turn_status.over:
        return TurnOver()
    calls.reclaim(journal, call, fence, turn_status.turn_config)
    return Claimed(call, needs_recovery=True)


def _claim_prepared(
    journal: Journal,
    fence: Fence,
    machine: str,
    evidence: ClaimEvidence,
    plan: Plan | ToolError,
    turn_status: TurnStatus,
) -> ClaimResult:
    call = evidence.call
    if evidence.rejection is not None:
        return _settle_rejected(journal, call, evidence.rejection)
    if isinstance(plan, ToolError):
        calls.settle(journal, call, CallState.FAILED, Outcome(output=str(plan), error=True))
        return AlreadySettled()
    if evidence.awaits_answer:
        journal.record(SignalWithoutAnswer(call=call.id))
        return Undecided(call, evidence.findings, waiting=True)
    if plan.effect.digest != call.digest or evidence.has_new_requests(plan):
        drifted = evidence.after_drift(calls.drift(journal, call, plan))
        if evidence.decided_by_person_or_grant:
            return Undecided(drifted.call, drifted.findings)
        evidence = drifted
    return _claim_decided(journal, fence, machine, evidence, turn_status)


def _claim_decided(
    journal: Journal, fence: Fence, machine: str, evidence: ClaimEvidence, turn_status: TurnStatus
) -> ClaimResult:
    denied = next((finding for finding in evidence.findings if finding.action is Action.DENY), None)
    if denied is not None:
        text = refusals.denial_text(denied.permission, evidence.evaluator.rules)
        calls.settle(journal, evidence.call, CallState.REFUSED, Outcome(output=text, error=True))
        return AlreadySettled()
    if evidence.has_void_answer:  # a new revision asks anew
        return Undecided(calls.drift(journal, evidence.call, evidence.call.plan), evidence.findings)
    decisions = evidence.decisions()
    if decisions is None:
        return Undecided(evidence.call, evidence.findings)
    calls.claim(journal, evidence.call, fence, machine, turn_status.turn_config, decisions)
    for grant in (decision.grant for decision in decisions if decision.grant is not None):
        grants.count_use(journal, grant)
    return Claimed(evidence.call, needs_recovery=False)


def _decision_on(finding: Finding, answer: AskRow | None) -> RecordedDecision | None:
    """None: undecided."""
    if answer is not None:
        return RecordedDecision(permission=finding.permission, by="answer", ask=answer.id, author=answer.author)
    if finding.action is not Action.ALLOW:
        return None
    if finding.grant is not None:
        return RecordedDecision(permission=finding.permission, by="grant", grant=finding.grant)
    return RecordedDecision(permission=finding.permission, by="rule", rule=finding.rule)


def _settle_rejected(journal: Journal, call: CallRow, ask: AskRow) -> AlreadySettled:
    text = refusals.feedback_text(ask.feedback) if ask.feedback else refusals.REJECTED
    calls.settle(journal, call, CallState.REFUSED, Outcome(output=text, error=True))
    return AlreadySettled(rejected=ask.feedback is None)
