"""A turn that owes a result by a schema."""

from tests.domain.test_moves import CALL, settled, turn
from workflows.domain.ids import PartId
from workflows.domain.moves import Generate, Settle, next_move
from workflows.domain.open_call import CallResult, CallResultState, OpenCall
from workflows.domain.output_format import STRUCTURED_OUTPUT
from workflows.domain.step_flaw import StepFlaw
from workflows.domain.turn_state import MAX_EMPTY_ANSWERS, TurnState
from workflows.domain.wire import FINISH_STOPPED, CloseReason, StepResult

GIVE = OpenCall(id=PartId("prt_2"), tool=STRUCTURED_OUTPUT, loop_digest="s")
TEXT = StepResult(finish="stop")
GIVEN = StepResult(finish="tool-calls", calls=(GIVE,))
READ = StepResult(finish="tool-calls", calls=(CALL,))


def gave(state: TurnState) -> TurnState:
    for call in state.calls:
        call.apply_result(CallResult(state=CallResultState.SETTLED, gave_result=call.tool == STRUCTURED_OUTPUT))
    return state


def test_a_valid_result_ends_the_turn_also_beside_other_calls_and_as_the_last_step() -> None:
    both = StepResult(finish="tool-calls", calls=(CALL, GIVE), has_text=False)
    for state in (turn(GIVEN, corrections=0), turn(both, corrections=2), turn(both, corrections=2, max_steps=1)):
        assert next_move(state) == Settle()
        assert (next_move(gave(state)), state.failure, state.reason) == (None, None, CloseReason.DONE)


def test_text_and_invalid_results_are_corrected_a_few_times_and_other_calls_are_not_counted() -> None:
    assert next_move(turn(TEXT, corrections=1)) == Generate(2)
    assert next_move(settled(turn(GIVEN, TEXT, READ, corrections=2))) == Generate(4)
    given_up = settled(turn(TEXT, GIVEN, corrections=1))
    assert (next_move(given_up), given_up.reason) == (None, CloseReason.FAILED)
    assert "no result that fits the schema, in 2 tries" in (given_up.failure or "")
    assert next_move(turn(TEXT, corrections=1, corrected=1)) is None


def test_a_turn_without_a_schema_ends_with_text_and_goes_on_behind_a_call_of_that_name() -> None:
    assert next_move(turn(TEXT)) is None
    assert next_move(gave(turn(GIVEN))) == Generate(2)


def test_the_last_step_takes_the_result_alone_and_is_asked_for_once_more() -> None:
    late = StepResult(finish="tool-calls", calls=(CALL, GIVE), has_text=True)
    state = turn(late, corrections=2, max_steps=1)
    assert (state.refuses(CALL), state.refuses(GIVE)) == (True, False)
    text = StepResult(finish="stop", has_text=True)
    assert next_move(turn(text, corrections=2, max_steps=1)) == Generate(2, text_only=True, again=True)
    twice = turn(text, text, corrections=2, max_steps=1)
    assert next_move(twice) is None and "used up its 1 step without a result" in (twice.failure or "")


def test_stops_rejections_and_empty_answers_end_the_turn_as_ever() -> None:
    stopped = turn(StepResult(finish=FINISH_STOPPED), corrections=2)
    assert (next_move(stopped), stopped.reason) == (None, CloseReason.STOPPED)
    rejected = settled(turn(READ, corrections=2), CallResultState.REJECTED)
    assert (next_move(rejected), rejected.reason) == (None, CloseReason.REJECTED)
    empty = StepResult(finish="stop", flaw=StepFlaw.EMPTY)
    assert next_move(turn(empty, corrections=0)) == Generate(2)
    silent = turn(*[empty] * (MAX_EMPTY_ANSWERS + 1), corrections=0)
    assert next_move(silent) is None and "empty answer" in (silent.failure or "")


def test_a_repeated_result_asks_nobody() -> None:
    state = turn(GIVEN, GIVEN, GIVEN, corrections=5)
    assert not state.calls[0].repeats
    assert turn(GIVEN, GIVEN, GIVEN).calls[0].repeats
