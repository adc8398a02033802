"""The claim: evidence first, one decision, one write, before the effect."""

import asyncio
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from activities.calls.permissions import call_findings, loop_guard_request
from activities.store import asks, calls, grants, prompts, turns
from activities.store.asks import AskRow
from activities.store.calls import CallRow, PreparedCall
from activities.store.journal import Journal, SessionVersion
from activities.store.turns import TurnStatus
from prompts import render_prompt
from workflows.domain.effects import Plan
from workflows.domain.errors import CallStopped, StaleFence, ToolError, VersionConflict
from workflows.domain.events.asks import SignalWithoutAnswer
from workflows.domain.events.calls import RecordedDecision
from workflows.domain.fence import Fence
from workflows.domain.ids import TurnConfigId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.permissions import refusals
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import AskState
from workflows.domain.permissions.rules import Action
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import AskKind
from workflows.domain.wire import RunRequest

_SUPERSEDED: Final = "an earlier call of the answer came out otherwise, so this call would do something else"
_TURN_OVER: Final = CallResult(state=CallResultState.SETTLED, stopped=True)


@dataclass(frozen=True)
class Claimed:
    """This attempt owns the effect; an earlier attempt may have begun it (`needs_recovery`). `version`: the session's
    after the claim, where no other writer is expected."""

    call: CallRow
    needs_recovery: bool
    version: SessionVersion | None = None


@dataclass(frozen=True)
class Allowed:
    """The call may be claimed."""

    call: CallRow
    decisions: tuple[RecordedDecision, ...]


@dataclass(frozen=True)
class Refused:
    """The call does not run, and this is its outcome; `rejected`: by a person, without feedback."""

    call: CallRow
    state: CallState
    text: str
    rejected: bool = False


@dataclass(frozen=True)
class Undecided:
    """A person has to decide first; `waiting`: the ask is open."""

    call: CallRow
    findings: tuple[Finding, ...]
    waiting: bool = False


Decision: TypeAlias = Allowed | Refused | Undecided


@dataclass(frozen=True)
class ClaimEvidence:
    """All that the decision on a prepared call depends on."""

    call: CallRow
    turn_config: TurnConfigId
    rules: Rulesets
    live: tuple[Grant, ...]
    asks: list[AskRow]
    loop_guarded: bool
    author: str | None = None  # of the prompt that has asked for the call

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return call_findings(self.call, self.rules, self.live)

    @cached_property
    def due(self) -> dict[int, Finding]:
        """Each finding by the index of its request; the loop guard's, if it is to ask."""
        found = dict(enumerate(self.findings))
        if self.loop_guarded:
            found[GUARD_REQUEST] = self.rules.finding(loop_guard_request(self.call), self.live)
        return found

    @property
    def rejection(self) -> AskRow | None:
        return next((ask for ask in self.asks if ask.rejected), None)

    @property
    def awaits_answer(self) -> bool:
        return any(ask.state is AskState.OPEN for ask in self.asks)

    @property
    def has_void_answer(self) -> bool:
        """Whether an answer no longer holds: grants gave it and do not any more, or it was for another effect."""
        given = [ask for ask in self.asks if ask.by_grant is not None]
        if any(self.due[index].action is not Action.ALLOW for ask in given for index in self.due.keys() & ask.requests):
            return True
        digest = self.call.digest or ""
        return any(ask.allowed and not ask.only_guards and ask.digest != digest for ask in self.asks)

    @property
    def decided_by_person_or_grant(self) -> bool:
        return any(not ask.only_guards for ask in self.asks) or any(each.grant for each in self.findings)

    def has_drifted(self, plan: Plan) -> bool:
        """Whether the effect has changed, or now needs something new that no rule allows: a name in a command may lead
        elsewhere. An unchecked call needs a person's yes anyway."""
        if plan.effect.digest != self.call.digest:
            return True
        new = () if plan.effect.unchecked else (each for each in plan.asks if each not in self.call.asks)
        return any(self.rules.finding(each, self.live).action is not Action.ALLOW for each in new)

    def after_drift(self, plan: Plan) -> "ClaimEvidence":
        """The evidence for the call's new revision: only the loop guard's answer still holds."""
        revised = self.call.revised(plan)
        return replace(self, call=revised, asks=asks.relevant_to(self.asks, revised))

    def decisions(self) -> tuple[RecordedDecision, ...] | None:
        """One decision for each finding; None while one is undecided."""
        answers = {index: ask for ask in self.asks if ask.allowed for index in ask.requests}
        made = [self._decision(index, finding, answers.get(index)) for index, finding in sorted(self.due.items())]
        found = tuple(decision for decision in made if decision is not None)
        return found if len(found) == len(made) else None

    def _decision(self, index: int, finding: Finding, answer: AskRow | None) -> RecordedDecision | None:
        prompt = self.call.asked_by
        if prompt is None or index == GUARD_REQUEST:
            return _decision_on(finding, answer)
        return RecordedDecision(permission=finding.permission, by="prompt", prompt=prompt, author=self.author)


@dataclass(frozen=True)
class CallClaim:
    """An attempt's claim on a call. `plan`: what the call would do now (None: it was claimed before)."""

    request: RunRequest
    fence: Fence
    machine: str
    plan: Plan | ToolError | None

    async def take(self, journal: Journal, prepared: PreparedCall | None = None) -> Claimed | CallResult:
        """Claim the call, or say why its effect may not begin.

        Raises StaleFence when a higher fence holds the claim, VersionConflict when its rows have to be read.
        """
        if journal.as_seen:
            return await self._take_as_prepared(journal, prepared)
        return await self._take_by_rows(journal)

    async def _take_by_rows(self, journal: Journal) -> Claimed | CallResult:
        call, turn_status, found, live = await asyncio.gather(
            calls.lock(journal, self.request.call),
            turns.turn_status(journal, self.request.turn),
            asks.of_call(journal, self.request.call),
            grants.list_live(journal),
        )
        if call.settled:
            rejected = call.state is CallState.REFUSED and await asks.any_rejected(journal, call.turn)
            state = CallResultState.REJECTED if rejected else CallResultState.SETTLED
            return CallResult(state=state, gave_result=call.gave_result, as_planned=call.made_as(self.request.revision))
        over = turn_status.over or journal.ended
        if journal.suspension is not None and not over:
            return CallResult(state=CallResultState.SUSPENDED)
        if call.state is CallState.CLAIMED and call.fence is not None:
            return self._take_over(journal, call, turn_status)
        if over or self.plan is None:
            return _TURN_OVER
        if self.request.turn_ended:
            calls.settle(
                journal, call, CallState.REFUSED, Outcome(output=render_prompt("tools/turn_ended"), error=True)
            )
            return CallResult(state=CallResultState.SETTLED)
        rules = (await turns.turn_config(journal, turn_status.turn_config)).rules
        author = await _ordering_author(journal, call)
        if call.asked_by is not None and author is None:  # the row alone proves nothing
            call = call.model_copy(update={"ordered_by": None, "mentioned_by": None})
        relevant, guarded = asks.relevant_to(found, call), self.request.loop_guarded
        evidence = ClaimEvidence(call, turn_status.turn_config, rules, live, relevant, guarded, author)
        if self.request.follows and isinstance(self.plan, Plan) and evidence.has_drifted(self.plan):
            for ask in (ask for ask in relevant if ask.state is AskState.OPEN):
                asks.close(journal, ask, _SUPERSEDED)
            evidence = replace(evidence, asks=[ask for ask in relevant if ask.state is not AskState.OPEN])
        return self.write(journal, evidence, decide(evidence, self.plan))

    async def _take_as_prepared(self, journal: Journal, prepared: PreparedCall | None) -> Claimed | CallResult:
        if prepared is None:
            raise VersionConflict
        rules = (await turns.turn_config(journal, prepared.turn_config)).rules
        if (decided := self.decide_as_prepared(prepared, journal.version, rules)) is None:
            raise VersionConflict
        return self.write(journal, *decided)

    def decide_as_prepared(
        self, prepared: PreparedCall, version: SessionVersion, rules: Rulesets
    ) -> tuple[ClaimEvidence, Decision] | None:
        """Only if rules alone allow the effect: a grant of another session can be revoked without a change of this
        session's log. None: the call's rows have to be read."""
        stopped = version.status == "ended" or version.suspension is not None or self.request.turn_ended
        if prepared.row.asked_by is not None or self.plan is None or stopped:
            return None
        evidence = ClaimEvidence(
            prepared.row, prepared.turn_config, rules, prepared.live, [], self.request.loop_guarded
        )
        decision = decide(evidence, self.plan)
        by_rules = isinstance(decision, Allowed) and all(each.by == "rule" for each in decision.decisions)
        return (evidence, decision) if by_rules and decision.call is prepared.row else None

    def write(self, journal: Journal, evidence: ClaimEvidence, decision: Decision) -> Claimed | CallResult:
        """Record what was decided on the evidence."""
        call = decision.call
        if call.revision != evidence.call.revision:
            calls.drift(journal, evidence.call, call, by_answer=self.request.follows)
        if self.request.only_plans and isinstance(decision, Allowed):
            decision = Undecided(call, call_findings(call, evidence.rules, evidence.live))
        match decision:
            case Allowed(decisions=decisions):
                grants.count_uses(journal, (each.grant for each in decisions if each.grant is not None))
                claimed = calls.claim(journal, call, self.fence, self.machine, evidence.turn_config, decisions)
                return Claimed(claimed, False, journal.version_after if journal.as_seen else None)
            case Refused():
                calls.settle(journal, call, decision.state, Outcome(output=decision.text, error=True))
                return CallResult(state=CallResultState.REJECTED if decision.rejected else CallResultState.SETTLED)
            case Undecided():
                if decision.waiting:
                    journal.record(SignalWithoutAnswer(call=call.id))
                return CallResult(
                    state=CallResultState.WAITING if decision.waiting else CallResultState.DRIFTED,
                    findings=decision.findings,
                    effect_digest=call.short_digest,
                    revision=call.revision,
                )

    def _take_over(self, journal: Journal, call: CallRow, turn_status: TurnStatus) -> Claimed | CallResult:
        """Take over a lower attempt's claim. If this attempt holds the claim, only its commit's acknowledgement was
        lost; if it has planned the call, there is nothing to recover."""
        if not self.fence.may_take(call.fence):
            raise StaleFence(f"Call {call.id!r} is claimed by a later attempt: {call.fence}, this one is {self.fence}.")
        if call.fence == self.fence:
            return Claimed(call, needs_recovery=self.plan is None)
        if turn_status.over:
            return _TURN_OVER
        calls.reclaim(journal, call, self.fence, turn_status.turn_config)
        return Claimed(call, needs_recovery=True)


def decide(evidence: ClaimEvidence, plan: Plan | ToolError) -> Decision:
    """What becomes of a prepared call. `plan`: what it would do now, or why it cannot be planned."""
    call = evidence.call
    if evidence.rejection is not None:
        feedback = evidence.rejection.feedback
        is_question = evidence.rejection.kind is AskKind.QUESTION
        text = refusals.rejection_text(refusals.DISMISSED if is_question else refusals.REJECTED, feedback)
        return Refused(call, CallState.REFUSED, text, rejected=not feedback)
    if isinstance(plan, ToolError):
        return Refused(call, CallState.FAILED, str(plan))
    if evidence.awaits_answer:
        return Undecided(call, evidence.findings, waiting=True)
    if not evidence.has_drifted(plan):
        return _decide_current(evidence)
    drifted = evidence.after_drift(plan)
    if evidence.decided_by_person_or_grant:
        return Undecided(drifted.call, drifted.findings)
    return _decide_current(drifted)


def _decide_current(evidence: ClaimEvidence) -> Decision:
    call = evidence.call
    denied = next((finding for finding in evidence.findings if finding.action is Action.DENY), None)
    if denied is not None:
        return Refused(call, CallState.REFUSED, refusals.denial_text(denied.permission, evidence.rules.flat))
    if evidence.has_void_answer:  # a new revision asks anew
        return Undecided(call.revised(call.plan), evidence.findings)
    decisions = evidence.decisions()
    return Undecided(call, evidence.findings) if decisions is None else Allowed(call, decisions)


async def _ordering_author(journal: Journal, call: CallRow) -> str | None:
    """The author of the prompt that asks for exactly this call, or for its agent. None unless the prompt's content and
    the log confirm it."""
    if call.mentioned_by is not None:
        author, names = await asyncio.gather(
            prompts.author(journal, call.mentioned_by, call.turn), prompts.names(journal, call.mentioned_by)
        )
        return author if call.delegate in names else None
    if call.asked_by is None or call.ordered_by is None or call.ordered_part is None:
        return None
    author, subtask = await asyncio.gather(
        prompts.author(journal, call.ordered_by), prompts.subtask(journal, call.ordered_by, call.ordered_part)
    )
    return author if subtask is not None and call.arguments == subtask.arguments else None


def _decision_on(finding: Finding, answer: AskRow | None) -> RecordedDecision | None:
    """None if it is undecided."""
    ask = answer.id if answer is not None else None
    if answer is not None and answer.by_grant is None:
        return RecordedDecision(permission=finding.permission, by="answer", ask=ask, author=answer.author)
    if finding.action is not Action.ALLOW:
        return None
    if finding.grant is not None:
        return RecordedDecision(permission=finding.permission, by="grant", grant=finding.grant, ask=ask)
    return RecordedDecision(permission=finding.permission, by="rule", rule=finding.rule)


async def require_open_claim(journal: Journal, call: CallRow, fence: Fence) -> TurnStatus:
    """Locks the call; returns its turn. Raises StaleFence when another attempt holds the claim, CallStopped when the
    turn is over."""
    row, turn = await asyncio.gather(calls.lock(journal, call.id), turns.turn_status(journal, call.turn))
    if row.settled or row.fence != fence:
        raise StaleFence(f"Call {row.id!r} is {row.state} under {row.fence}, this attempt is {fence}.")
    if turn.over or journal.ended:
        raise CallStopped(render_prompt("tools/not_begun"))
    return turn
