"""Permissions of stored calls, as compact findings."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from activities.calls.description import CallDescriber, describe_nothing
from activities.store import asks, grants, turns
from activities.store.calls import CallRow
from activities.store.journal import Journal
from activities.tools.invalid import is_cut
from workflows.domain.call_display import DisplayKind
from workflows.domain.effects import Recovery
from workflows.domain.ids import TurnConfigId
from workflows.domain.open_call import GUARD_FINDING, CallPhase, OpenCall
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import AskState
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.permissions.rules import Action
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import AskBody, CallRequest, QuestionRequest


@dataclass(frozen=True)
class PermissionEvaluator:
    """Applies a turn's rules and the session's live grants."""

    rules: Rulesets
    live: tuple[Grant, ...]

    def findings(self, call: CallRow) -> tuple[Finding, ...]:
        """One finding per request of the plan; none when planning failed: the run reports why."""
        return call_findings(call, self.rules, self.live)

    def guard(self, call: CallRow) -> Finding:
        return self.rules.finding(loop_guard_request(call), self.live)

    def open_calls(self, calls: Sequence[CallRow], describe: CallDescriber = describe_nothing) -> list[OpenCall]:
        """What the workflow gets of an answer: its calls without their contents, in its order."""
        opened = [self.open_call(call, describe) for call in calls]
        places = {call.position: place for place, call in enumerate(calls)}
        for each, call in zip(opened, calls, strict=True):
            each.waits_for = tuple(places[position] for position in call.waits_for)
            behind_edits = any(opened[at].is_edit for at in each.waits_for)
            each.outdated = behind_edits and not each.is_edit and call.revision == 0
        return opened

    def open_call(self, call: CallRow, describe: CallDescriber = describe_nothing) -> OpenCall:
        guard = self.guard(call)
        return OpenCall(
            id=call.id,
            tool=call.tool,
            loop_digest=call.loop_digest,
            findings=self.findings(call),
            guard=None if guard.action is Action.ASK else guard,
            effect_digest=call.short_digest if call.recovery is not Recovery.REPEATABLE else None,
            is_edit=call.display.kind is DisplayKind.EDIT,
            label=describe(call),
            quick=call.plan is not None and call.plan.quick,
            revision=call.revision,
            phase=CallPhase.SETTLED if call.settled else CallPhase.NEW,
            gave_result=call.gave_result,
            cut=is_cut(call.tool, call.arguments),
        )


def call_findings(call: CallRow, rules: Rulesets, live: tuple[Grant, ...]) -> tuple[Finding, ...]:
    """One for each request. A person who has asked for the call itself is not asked again; a deny holds."""
    found = (rules.finding(request, live) for request in call.asks)
    if call.asked_by is None:
        return tuple(found)
    allowed = {"action": Action.ALLOW, "grant": None}
    return tuple(each.model_copy(update=allowed) if each.action is Action.ASK else each for each in found)


async def load_evaluator(journal: Journal, turn_config: TurnConfigId) -> PermissionEvaluator:
    frozen, live = await asyncio.gather(turns.turn_config(journal, turn_config), grants.list_live(journal))
    return PermissionEvaluator(frozen.rules, live)


async def resume_call(journal: Journal, call: CallRow, resumed: OpenCall) -> OpenCall:
    """The call with its asks when a run resumes the turn."""
    known = asks.relevant_to(await asks.of_call(journal, call.id), call)
    resumed.outdated = resumed.outdated and not known
    resumed.answered = tuple(index for ask in known if ask.state is AskState.ANSWERED for index in ask.requests)
    waiting = next((ask for ask in known if ask.state is AskState.OPEN), None)
    if waiting is not None:
        resumed.wait_for_ask(waiting.id, waiting.requests)
    return resumed


def body_of(call: CallRow, indices: tuple[int, ...]) -> AskBody | None:
    """What an ask for these requests of a call is about; None if the call no longer has one of them."""
    known: dict[int, CallRequest] = {GUARD_REQUEST: loop_guard_request(call), **dict(enumerate(call.asks))}
    found = [known.get(index) for index in indices]
    if len(found) == 1 and isinstance(found[0], QuestionRequest):
        return found[0]
    permissions = tuple(each for each in found if isinstance(each, PermissionRequest))
    return PermissionAsk(requests=permissions) if len(permissions) == len(found) else None


def loop_guard_request(call: CallRow) -> PermissionRequest:
    """The question about a repeated call (opencode.md 2.8)."""
    return PermissionRequest(
        permission=GUARD_FINDING.permission,
        patterns=(call.tool,),
        always=(call.tool,),
        metadata={"tool": call.tool, "input": call.arguments},
    )
