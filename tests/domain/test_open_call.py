"""OpenCall: a call between its answer and its outcome, and what history holds of it."""

import json

import pytest

from workflows.domain.ids import AskId, PartId
from workflows.domain.open_call import CallPhase, CallResult, CallResultState, OpenCall
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.rules import Action

ASK = Finding(permission="edit", action=Action.ASK)


def open_call(**changed: object) -> OpenCall:
    fields = {"id": PartId("prt_1"), "tool": "edit", "loop_digest": "d1", "findings": (ASK,)} | changed
    return OpenCall.model_validate(fields)


@pytest.mark.parametrize("exclude_unset", [True, False])
def test_only_what_is_not_a_default_costs_history(exclude_unset: bool) -> None:
    call = open_call(guard=None, quick=False)
    call.wait_for_ask(AskId("per_1"), (0, 1))
    call.record_answer()

    written = call.model_dump_json(exclude_unset=exclude_unset)

    assert [*json.loads(written)] == ["id", "tool", "loop_digest", "findings", "ask", "requests", "answered"]
    assert OpenCall.model_validate_json(written) == call


def test_a_drifted_call_forgets_its_answers_and_the_grant_for_its_loop() -> None:
    allowed = Finding(permission="doom_loop", action=Action.ALLOW)
    call = open_call(answered=(GUARD_REQUEST, 0), guard=allowed, repeats=True, effect_digest="a")
    call.apply_result(CallResult(state=CallResultState.DRIFTED, findings=(ASK, ASK), effect_digest="b", revision=1))
    assert (call.answered, call.guard, len(call.findings), call.revision, call.open) == ((), None, 2, 1, True)
    assert call.effect_digest == "b"


def test_a_repeated_call_has_the_loop_guards_finding_besides_its_own() -> None:
    allowed = Finding(permission="doom_loop", action=Action.ALLOW)
    assert open_call(guard=allowed).effective_findings() == {0: ASK}
    assert open_call(guard=allowed, repeats=True).effective_findings() == {GUARD_REQUEST: allowed, 0: ASK}
    assert open_call(repeats=True).effective_findings()[GUARD_REQUEST].action is Action.ASK


def test_a_signal_without_an_answer_leads_back_to_waiting() -> None:
    call = open_call()
    call.wait_for_ask(AskId("per_1"), (0, 1))
    call.record_answer()
    call.apply_result(CallResult(state=CallResultState.WAITING))
    assert (call.phase, call.ask, call.requests, call.answered) == (CallPhase.ASKED, "per_1", (0, 1), ())
