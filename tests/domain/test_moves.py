"""The next move of a turn."""

from workflows.domain.ids import PartId, TurnId
from workflows.domain.moves import Compact, Generate, Outgrow, Settle, next_move
from workflows.domain.open_call import CallResult, CallResultState, OpenCall
from workflows.domain.step_flaw import StepFlaw
from workflows.domain.turn_state import (
    MAX_COMPACTIONS,
    MAX_CONTINUATIONS,
    MAX_EMPTY_ANSWERS,
    MAX_PAUSES,
    TurnState,
)
from workflows.domain.wire import CloseReason, OpenTurn, StepResult

CALL = OpenCall(id=PartId("prt_1"), tool="read", loop_digest="d")


def turn(*answers: StepResult, **changed: object) -> TurnState:
    state = TurnState.model_validate({"id": TurnId("trn_1"), "number": 1} | changed)
    for number, answer in enumerate(answers, start=1):
        state.step = number
        state.add_answer(answer)
    return state


def settled(state: TurnState, outcome: CallResultState = CallResultState.SETTLED) -> TurnState:
    for call in state.calls:
        call.apply_result(CallResult(state=outcome))
    return state


def test_a_new_turn_asks_the_model() -> None:
    assert next_move(turn()) == Generate(1)


def test_open_calls_are_settled_first() -> None:
    assert next_move(turn(StepResult(finish="tool-calls", calls=(CALL,)))) == Settle()


def test_subagents_come_before_a_due_compaction_and_that_before_the_next_step() -> None:
    """The order of opencode.md 4.2; after a final answer nothing is due."""
    delegated = turn(StepResult(finish="tool-calls", calls=(CALL,)), overflow="")
    delegated.calls[0].apply_result(CallResult(state=CallResultState.DELEGATED))
    assert next_move(delegated) == Settle()
    assert next_move(settled(delegated)) == Compact()
    delegated.record_compaction()
    assert next_move(delegated) == Generate(2)
    assert next_move(turn(StepResult(finish="stop"), overflow="")) is None


def test_settled_calls_lead_to_the_next_step_with_any_finish() -> None:
    assert next_move(settled(turn(StepResult(finish="stop", calls=(CALL,))))) == Generate(2)


def test_an_answer_without_calls_ends_the_turn() -> None:
    assert next_move(turn(StepResult(finish="stop"))) is None
    assert next_move(turn(StepResult(finish="length"))) is None


def test_the_model_goes_on_where_its_provider_has_paused_but_not_for_ever() -> None:
    paused = StepResult(finish="pause-turn")
    assert next_move(turn(paused)) == Generate(2)
    assert next_move(turn(*[paused] * MAX_PAUSES)) == Generate(MAX_PAUSES + 1)

    given_up = turn(*[paused] * (MAX_PAUSES + 1))
    assert (next_move(given_up), given_up.reason) == (None, CloseReason.FAILED)
    assert given_up.failure == "The provider has paused 11 times in a row, and the model came to no end."

    again = OpenTurn(id=TurnId("trn_1"), number=1, step=11, answer=paused, pauses=MAX_PAUSES)
    assert next_move(TurnState.from_open_turn(again)) is None
    assert next_move(turn(*[paused] * MAX_PAUSES, StepResult(finish="stop"))) is None


def test_a_pause_is_no_missing_result() -> None:
    owing = turn(StepResult(finish="pause-turn"), corrections=0)
    assert (next_move(owing), owing.missed_results) == (Generate(2), 0)


def test_an_empty_answer_is_asked_for_again_a_few_times() -> None:
    empty = StepResult(finish="unknown")
    assert next_move(turn(empty)) == Generate(2)
    assert next_move(turn(*[empty] * MAX_EMPTY_ANSWERS)) == Generate(MAX_EMPTY_ANSWERS + 1)
    assert next_move(turn(*[empty] * (MAX_EMPTY_ANSWERS + 1))) is None


def test_a_rejection_ends_the_turn_unless_the_configuration_goes_on() -> None:
    answer = StepResult(finish="tool-calls", calls=(CALL,))
    assert next_move(settled(turn(answer), CallResultState.REJECTED)) is None
    assert next_move(settled(turn(answer, continue_after_reject=True), CallResultState.REJECTED)) == Generate(2)


def test_the_last_step_offers_no_tools_and_is_the_last() -> None:
    answer = StepResult(finish="tool-calls", calls=(CALL,))
    assert next_move(settled(turn(answer, max_steps=2))) == Generate(2, text_only=True)
    assert next_move(turn(answer, StepResult(finish="stop"), max_steps=2)) is None


def test_steps_that_a_prompt_has_ordered_are_none_of_the_agents() -> None:
    ordered = StepResult(finish="tool-calls", calls=(CALL,), ordered=True)
    silent = StepResult(finish="tool-calls", calls=(CALL,), has_text=False)

    assert next_move(settled(turn(ordered, max_steps=1))) == Generate(2, text_only=True)
    assert next_move(settled(turn(ordered, silent, max_steps=1))) == Generate(3, text_only=True, again=True)


def test_the_text_of_a_text_only_step_ends_the_turn_unless_calls_follow_it() -> None:
    announced = StepResult(finish="tool-calls", calls=(CALL,), has_text=True)
    once = turn(announced, max_steps=1)
    ended = turn(announced, StepResult(finish="stop", has_text=True), max_steps=1)
    twice = turn(announced, announced, max_steps=1)

    assert (next_move(once), once.refuses(CALL)) == (Settle(), True)
    assert next_move(settled(once)) == Generate(2, text_only=True, again=True)
    assert (next_move(ended), ended.failure, ended.reason) == (None, None, CloseReason.DONE)
    assert (next_move(settled(twice)), twice.failure, twice.reason) == (None, None, CloseReason.DONE)


def test_a_text_only_step_without_text_is_asked_for_once_more_and_then_fails_the_turn() -> None:
    silent = StepResult(finish="tool-calls", calls=(CALL,), has_text=False)
    once = settled(turn(silent, max_steps=1))
    twice = turn(silent, silent, max_steps=1)

    assert next_move(once) == Generate(2, text_only=True, again=True)
    assert next_move(twice) == Settle()
    assert (next_move(settled(twice)), twice.reason) == (None, CloseReason.FAILED)
    assert twice.failure is not None and "used up its 1 step without an answer" in twice.failure


def test_the_last_step_of_an_older_release_ends_the_turn_as_it_did() -> None:
    state = turn(StepResult(finish="tool-calls", calls=(CALL,)), max_steps=1)

    assert (next_move(settled(state)), state.refuses(CALL), state.reason) == (None, False, CloseReason.DONE)


def test_an_error_ends_the_turn_with_calls_still_open() -> None:
    assert next_move(turn(error="There is no key.")) is None
    assert next_move(turn(StepResult(finish="tool-calls", calls=(CALL,)), error="The call cannot be run.")) is None


def test_a_context_that_fits_in_no_way_needs_another_model_or_a_person() -> None:
    refused = turn()
    for _ in range(MAX_COMPACTIONS):
        refused.record_overflow("It is too long.")
        assert next_move(refused) == Compact()
        refused.record_compaction()
    refused.record_overflow("It is too long.")
    assert next_move(refused) == Outgrow() and refused.outgrown == "It is too long. Compacting it did not help."
    refused.record_larger_model()
    assert next_move(refused) == Generate(1)

    estimated = turn(overflow="")
    for _ in range(MAX_COMPACTIONS):
        estimated.record_failed_compaction("It could not be compacted.", final=False)
    assert next_move(estimated) == Generate(1) and estimated.unchecked


def test_a_turn_that_only_compacts_asks_for_no_step() -> None:
    state = turn(only_compacts=True, overflow="")
    assert next_move(state) == Compact()
    state.record_compaction()
    assert next_move(state) is None and state.reason is CloseReason.DONE

    failed = turn(only_compacts=True, overflow="")
    failed.record_failed_compaction("It could not be compacted.", final=True)
    assert next_move(failed) is None and failed.reason is CloseReason.DONE


CUT = StepResult(finish="length", cut=True)
CUT_CALL = StepResult(finish="length", calls=(CALL.model_copy(update={"cut": True}),))


def test_an_answer_that_the_output_limit_has_cut_is_continued_a_few_times() -> None:
    assert next_move(turn(CUT)) == Generate(2)
    assert next_move(turn(CUT, StepResult(finish="stop"))) is None
    ended = turn(CUT, StepResult(finish="stop", flaw=StepFlaw.EMPTY))  # with the cut piece
    assert (next_move(ended), ended.reason) == (None, CloseReason.DONE)
    assert next_move(turn(*[CUT] * MAX_CONTINUATIONS)) == Generate(MAX_CONTINUATIONS + 1)
    given_up = turn(*[CUT] * (MAX_CONTINUATIONS + 1))
    assert (next_move(given_up), given_up.reason) == (None, CloseReason.DONE)
    assert next_move(turn(CUT, cuts=MAX_CONTINUATIONS)) is None


def test_a_continuation_is_no_step_more_than_the_turn_may_take() -> None:
    said = StepResult(finish="length", has_text=True, cut=True)
    assert next_move(turn(CUT, max_steps=2)) == Generate(2, text_only=True)
    ended = turn(CUT, said, max_steps=2)
    assert (next_move(ended), ended.reason) == (None, CloseReason.DONE)


def test_a_call_that_was_cut_is_asked_for_again_as_often_and_asks_nobody() -> None:
    again = settled(turn(*[CUT_CALL] * MAX_CONTINUATIONS))
    assert next_move(again) == Generate(MAX_CONTINUATIONS + 1) and not again.calls[0].repeats
    whole = StepResult(finish="length", calls=(CALL,))
    assert next_move(settled(turn(*[CUT_CALL] * MAX_CONTINUATIONS, whole, CUT_CALL))) == Generate(6)
    for owed in (None, 2):
        given_up = settled(turn(*[CUT_CALL] * (MAX_CONTINUATIONS + 1), corrections=owed))
        assert (next_move(given_up), given_up.reason) == (None, CloseReason.FAILED)
        assert "has cut 4 answers in a row" in (given_up.failure or "")


def test_an_empty_answer_behind_a_cut_call_is_asked_for_again_also_in_a_run_that_finds_only_the_count() -> None:
    empty = StepResult(finish="stop", flaw=StepFlaw.EMPTY)
    opened = OpenTurn(id=TurnId("trn_1"), number=1, step=2, cuts=1, cut_call=True)
    answered = TurnState.from_open_turn(opened.model_copy(update={"answer": empty}))
    asking = TurnState.from_open_turn(opened)
    asking.step += 1
    asking.add_answer(empty)
    assert next_move(answered) == next_move(asking) == Generate(3)


def test_the_text_of_a_turn_that_owes_a_result_is_corrected_and_not_continued() -> None:
    assert next_move(turn(CUT, corrections=0)) is None
