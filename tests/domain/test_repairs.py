"""Repairs of a session that does not move."""

import pytest

from workflows.domain.repairs import Repair, next_repair


@pytest.mark.parametrize(
    ("run", "watched", "refreshes", "restarts", "expected"),
    [
        ("a", None, 0, 0, Repair.REFRESH),
        ("a", "a", 1, 0, Repair.REFRESH),
        ("a", "a", 2, 0, Repair.RESTART),
        ("b", "a", 2, 0, Repair.REFRESH),  # a newer run was never refreshed: it is not terminated
        ("b", None, 2, 4, Repair.REFRESH),
        (None, "a", 2, 0, Repair.RESTART),  # each of them ends by itself
        ("a", "a", 0, 5, Repair.REFRESH),
        ("a", "a", 2, 4, Repair.RESTART),
        ("a", "a", 2, 5, Repair.SUSPEND),
        (None, None, 2, 5, Repair.SUSPEND),
    ],
)
def test_two_refreshes_then_a_restart_and_after_five_a_person(
    run: str | None, watched: str | None, refreshes: int, restarts: int, expected: Repair
) -> None:
    assert next_repair(run, watched, refreshes, restarts) is expected
