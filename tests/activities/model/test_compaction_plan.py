"""Which model is asked for a summary, and how long its request is."""

from activities.model.compaction_plan import summariser, summary_room
from workflows.domain.turn_state import MAX_COMPACTIONS

LAST = MAX_COMPACTIONS - 1


def test_a_summary_is_asked_of_the_agents_model_and_at_last_of_the_larger_one() -> None:
    assert [summariser("a/turn", None, "a/larger", tried) for tried in range(MAX_COMPACTIONS)] == [
        *("a/turn",) * LAST,
        "a/larger",
    ]
    assert summariser("a/turn", "a/agent", "a/larger", 0) == "a/agent"
    assert summariser("a/turn", "a/agent", None, LAST) == "a/agent"


def test_each_further_request_is_half_as_long_but_for_another_models() -> None:
    rooms = [summary_room(1_000, tried, is_larger=False) for tried in range(MAX_COMPACTIONS)]
    assert rooms == [4_000, 2_000, 1_000] and summary_room(1_000, LAST, is_larger=True) == 4_000
