"""SessionState: what a session's workflow remembers, and how signals and results change it."""

import pytest

from workflows.domain.ids import PartId, SessionId, TurnId
from workflows.domain.open_call import CallPhase, CallResult, CallResultState, OpenCall
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.rules import Action
from workflows.domain.state import SessionState
from workflows.domain.turn_state import TurnState
from workflows.domain.wake_signal import Wake, WakeKind
from workflows.domain.wire import FINISH_STOPPED, CloseReason, LoadResult, StepResult

TURN = TurnId("trn_1")
ASK = Finding(permission="edit", action=Action.ASK)


def open_call(number: int = 1, **changed: object) -> OpenCall:
    fields = {"id": PartId(f"prt_{number}"), "tool": "edit", "loop_digest": f"d{number}", "findings": (ASK,)} | changed
    return OpenCall.model_validate(fields)


def session(**loaded: object) -> SessionState:
    state = SessionState(session=SessionId("ses_1"))
    state.apply_load_result(LoadResult.model_validate({"epoch": 1, "turn": {"id": TURN, "number": 1} | loaded}))
    return state


def test_a_new_session_loads_its_rows() -> None:
    assert SessionState(session=SessionId("ses_1")).has_work()


def test_nothing_to_do_is_no_work() -> None:
    state = SessionState(session=SessionId("ses_1"))
    state.apply_load_result(LoadResult(epoch=1))
    assert not state.has_work()


def test_a_signal_that_came_meanwhile_is_work() -> None:
    state = SessionState(session=SessionId("ses_1"))
    state.apply_load_result(LoadResult(epoch=1))
    state.wake(Wake(kind=WakeKind.WORK))
    assert state.has_work()


def test_a_registered_step_without_answer_is_asked_for_again() -> None:
    turn = session(step=3).turn
    assert turn is not None and turn.step == 2 and turn.calls == []


def test_a_stored_answer_is_loaded_with_its_calls() -> None:
    answer = StepResult(finish="tool-calls", calls=(open_call(1, phase=CallPhase.SETTLED), open_call(2)))
    turn = session(step=3, answer=answer).turn
    assert turn is not None and turn.step == 3
    assert [call.id for call in turn.open_calls()] == ["prt_2"]


def test_only_a_stop_that_names_the_open_turn_is_due() -> None:
    state = session()
    state.wake(Wake(kind=WakeKind.STOP, turn=TurnId("trn_0")))
    assert not state.has_pending_stop()
    state.wake(Wake(kind=WakeKind.STOP, turn=TURN))
    assert state.has_pending_stop()


@pytest.mark.parametrize("kind", WakeKind)
def test_a_signal_that_comes_twice_is_kept_once(kind: WakeKind) -> None:
    state = session()
    for _ in range(2):
        state.wake(Wake(kind=kind, subject="id_1", turn=TURN))
    assert len(state.answers) + len(state.settled) + len(state.stops) == (kind in ("answer", "settled", "stop"))


def test_a_stop_of_untaken_prompts_is_none_of_the_turn() -> None:
    state = session()
    state.wake(Wake(kind=WakeKind.STOP))
    assert state.stops == []


def test_a_turn_that_was_stopped_before_its_load_is_due() -> None:
    assert session(stopped=True).has_pending_stop()


def test_closing_forgets_the_turn_and_its_signals() -> None:
    state = session()
    for kind in (WakeKind.ANSWER, WakeKind.SETTLED, WakeKind.STOP):
        state.wake(Wake(kind=kind, subject="per_1", turn=TURN))
    state.close_turn(prompts_waiting=True, ended=False)
    assert (state.turn, state.answers, state.settled, state.stops, state.load_due) == (None, [], [], [], True)


def test_the_third_equal_call_is_held_by_the_loop_guard() -> None:
    turn = TurnState(id=TURN, number=1)
    for _ in range(3):
        turn.add_answer(StepResult(finish="tool-calls", calls=(open_call(),)))
    assert [call.repeats for call in turn.calls] == [True] and GUARD_REQUEST in turn.calls[0].effective_findings()


def test_the_reason_of_an_end() -> None:
    turn = TurnState(id=TURN, number=1)
    turn.add_answer(StepResult(finish="tool-calls", calls=(open_call(),)))
    turn.calls[0].apply_result(CallResult(state=CallResultState.REJECTED))
    reasons = [turn.reason]
    turn.continue_after_reject = True
    reasons.append(turn.reason)
    turn.add_answer(StepResult(finish=FINISH_STOPPED))
    assert [*reasons, turn.reason] == [CloseReason.REJECTED, CloseReason.DONE, CloseReason.STOPPED]


def test_a_copy_with_all_fields_set_keeps_lists_that_were_only_appended_to() -> None:
    state = session()
    for kind in (WakeKind.ANSWER, WakeKind.SETTLED, WakeKind.STOP):
        state.wake(Wake(kind=kind, subject="per_1", turn=TURN))
    assert SessionState.model_validate(state.with_all_fields_set().model_dump(exclude_unset=True)) == state
