"""What is done at a schedule's moment."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workflows.domain.schedules.decision import FiringOutcome, Missed, Overlap, Timetable, decide
from workflows.domain.schedules.recurrence import Interval, Once

HOUR = timedelta(hours=1)
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def timetable(**fields: Any) -> Timetable:
    known: dict[str, Any] = {"overlap": Overlap.SKIP, "missed": Missed.RUN, "next_at": NOON}
    return Timetable(recurrence=Interval(seconds=3600), **(known | fields))


def decided(table: Timetable, late: timedelta = timedelta(0), *, busy: bool = False) -> tuple[Any, ...]:
    found = decide(table, NOON + late, UTC, busy=busy)
    return () if found is None else (found.outcome, found.nominal, found.next_at, found.queued_for)


@pytest.mark.parametrize(
    ("fields", "late", "busy", "outcome", "nominal", "queued"),
    [
        ({}, 0, False, "started", 12, None),
        ({}, 1, True, "skipped", 12, None),
        ({"overlap": Overlap.QUEUE}, 1, True, "queued", 12, 12),
        ({"overlap": Overlap.QUEUE, "queued_for": NOON - HOUR}, 1, True, "skipped", 12, 11),  # one waits at most
        ({"missed": Missed.SKIP}, 4, False, "started", 12, None),
        ({"missed": Missed.SKIP}, 6, False, "missed", 12, None),
        ({}, 6 * 24 * 60 + 30, False, "started", 12 + 6 * 24, None),  # of many that passed, the last
    ],
)
def test_each_moment_has_one_outcome(
    fields: dict[str, Any], late: int, busy: bool, outcome: str, nominal: int, queued: int | None
) -> None:
    def at(hour: int) -> datetime:
        return NOON + (hour - 12) * HOUR

    found = decided(timetable(**fields), timedelta(minutes=late), busy=busy)
    assert found == (outcome, at(nominal), at(nominal + 1), at(queued) if queued is not None else None)


def test_nothing_is_due_before_the_moment_or_for_a_run_that_waits_for_a_busy_one() -> None:
    early = timedelta(seconds=-1)
    assert decided(timetable(), early) == ()
    assert decided(timetable(queued_for=NOON - HOUR), early, busy=True) == ()


def test_a_run_that_waits_begins_when_the_one_before_has_ended_and_leaves_the_next_moment() -> None:
    waiting = timetable(queued_for=NOON - HOUR)
    assert decided(waiting) == (FiringOutcome.STARTED, NOON - HOUR, NOON, None)


def test_a_single_moment_is_done_with_its_outcome() -> None:
    once = timetable().model_copy(update={"recurrence": Once(at=NOON)})
    found = decide(once, NOON + 48 * HOUR, UTC, busy=False)
    assert found is not None and found.done and found.nominal == NOON
