"""Which answers are unusable."""

import pytest

from workflows.domain.ids import TurnId
from workflows.domain.moves import Generate, next_move
from workflows.domain.step_flaw import StepFlaw, find_flaw
from workflows.domain.turn_state import MAX_EMPTY_ANSWERS, TurnState
from workflows.domain.wire import CloseReason, StepResult


@pytest.mark.parametrize(
    ("finish", "text", "calls", "expected"),
    [
        ("stop", True, False, None),
        ("stop", False, False, StepFlaw.EMPTY),
        ("stop", False, True, None),
        ("tool-calls", False, True, None),
        ("tool-calls", True, False, StepFlaw.EMPTY),
        ("unknown", True, False, StepFlaw.EMPTY),
        ("unknown", False, True, None),
        ("length", True, False, None),
        ("length", False, False, StepFlaw.CUT),
        ("length", False, True, None),
        ("content-filter", True, True, StepFlaw.BLOCKED),
        ("broken-off", True, False, StepFlaw.BROKEN_OFF),
        ("pause-turn", True, False, None),
        ("pause-turn", False, False, None),
    ],
)
def test_the_flaw_of_an_answer_follows_from_its_finish_and_its_contents(
    finish: str, text: bool, calls: bool, expected: StepFlaw | None
) -> None:
    assert find_flaw(finish, text=text, calls=calls) is expected


@pytest.mark.parametrize("wrong", [StepFlaw.BLOCKED, StepFlaw.BROKEN_OFF, StepFlaw.CUT])
def test_a_blocked_or_cut_answer_ends_the_turn_as_failed(wrong: StepFlaw) -> None:
    turn = answered(StepResult(finish="length", flaw=wrong))

    assert (next_move(turn), turn.reason) == (None, CloseReason.FAILED)


def test_an_empty_answer_is_asked_for_again_and_fails_the_turn_in_the_end() -> None:
    turn = answered(*[StepResult(finish="stop", flaw=StepFlaw.EMPTY)] * MAX_EMPTY_ANSWERS)
    assert (next_move(turn), turn.failure) == (Generate(1), None)

    turn.add_answer(StepResult(finish="stop", flaw=StepFlaw.EMPTY))

    assert (next_move(turn), turn.reason) == (None, CloseReason.FAILED)
    assert turn.failure == "The model gave an empty answer 4 times in a row."


def test_a_flaw_is_told_in_the_providers_words() -> None:
    blocked = answered(StepResult(finish="content-filter", flaw=StepFlaw.BLOCKED, explanation="cyber: It is harmful."))
    assert blocked.failure == "The provider's content filter blocked the answer: cyber: It is harmful."

    unknown = StepResult(finish="unknown", flaw=StepFlaw.EMPTY, explanation="MALFORMED_FUNCTION_CALL")
    turn = answered(*[unknown] * (MAX_EMPTY_ANSWERS + 1))
    assert turn.failure == "The model came to no proper end 4 times in a row: MALFORMED_FUNCTION_CALL."


def test_an_answer_that_was_stored_by_an_older_release_ends_its_turn_as_it_did() -> None:
    turn = answered(StepResult(finish="content-filter"))

    assert (next_move(turn), turn.reason) == (None, CloseReason.DONE)


def answered(*steps: StepResult) -> TurnState:
    turn = TurnState(id=TurnId("trn_1"), number=1)
    for step in steps:
        turn.add_answer(step)
    return turn
