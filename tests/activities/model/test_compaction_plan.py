"""Which model is asked for a summary."""

from activities.model.compaction_plan import summariser
from workflows.domain.turn_state import MAX_COMPACTIONS

LAST = MAX_COMPACTIONS - 1


def test_a_summary_is_asked_of_the_agents_model_and_at_last_of_the_larger_one() -> None:
    assert [summariser("a/turn", None, "a/larger", tried) for tried in range(MAX_COMPACTIONS)] == [
        *("a/turn",) * LAST,
        "a/larger",
    ]
    assert summariser("a/turn", "a/agent", "a/larger", 0) == "a/agent"
    assert summariser("a/turn", "a/agent", None, LAST) == "a/agent"
