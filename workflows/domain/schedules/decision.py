"""What is done at a schedule's moment."""

from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Final

from workflows.domain.schedules.recurrence import Recurrence, latest_until, next_after
from workflows.domain.value import Value

LATE: Final = timedelta(minutes=5)  # from then on a moment counts as missed
CLOCK_TOLERANCE: Final = timedelta(minutes=1)  # how far Temporal's clock may be ahead of the database's


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    DELETED = "deleted"


class Overlap(StrEnum):
    """What happens at a moment while the run before is at work: nothing, or a run after it; one at most."""

    SKIP = "skip"
    QUEUE = "queue"


class Missed(StrEnum):
    """Whether what was missed runs, once and late."""

    RUN = "run"
    SKIP = "skip"


class FiringOutcome(StrEnum):
    STARTED = "started"
    QUEUED = "queued"
    SKIPPED = "skipped"
    MISSED = "missed"


class Timetable(Value):
    """`next_at`: its first moment that nothing was decided about. `queued_for`: one whose run waits for the one
    before."""

    recurrence: Recurrence
    overlap: Overlap
    missed: Missed
    next_at: datetime | None
    queued_for: datetime | None = None


class FiringDecision(Value):
    """`nominal`: the moment that it is about; `next_at` and `queued_for`: the timetable's from now on."""

    outcome: FiringOutcome
    nominal: datetime
    next_at: datetime | None
    queued_for: datetime | None = None

    @property
    def done(self) -> bool:
        return self.next_at is None and self.queued_for is None


def decide(timetable: Timetable, now: datetime, zone: tzinfo, *, busy: bool) -> FiringDecision | None:
    """What to do now; None if nothing is due. Of several moments that have passed, only the last one counts.

    `busy`: the run before is at work.
    """
    if timetable.queued_for is not None and not busy:
        return FiringDecision(
            outcome=FiringOutcome.STARTED, nominal=timetable.queued_for, next_at=timetable.next_at, queued_for=None
        )
    if timetable.next_at is None or timetable.next_at > now:
        return None
    latest = latest_until(timetable.recurrence, now, zone)
    nominal = max(timetable.next_at, latest) if latest is not None else timetable.next_at
    outcome = _outcome(timetable, now - nominal, busy=busy)
    return FiringDecision(
        outcome=outcome,
        nominal=nominal,
        next_at=next_after(timetable.recurrence, nominal, zone),
        queued_for=nominal if outcome is FiringOutcome.QUEUED else timetable.queued_for,
    )


def _outcome(timetable: Timetable, late: timedelta, *, busy: bool) -> FiringOutcome:
    if late > LATE and timetable.missed is Missed.SKIP:
        return FiringOutcome.MISSED
    if not busy:
        return FiringOutcome.STARTED
    may_queue = timetable.overlap is Overlap.QUEUE and timetable.queued_for is None
    return FiringOutcome.QUEUED if may_queue else FiringOutcome.SKIPPED
