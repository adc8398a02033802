"""Schedules in Temporal: they hold only the times and the id of a row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, timedelta
from itertools import groupby
from typing import Any, Final

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
)
from temporalio.service import RPCError, RPCStatusCode

from activities.store.schedules import EngineSchedule
from worker.outbox import queue
from workflows.domain import ids
from workflows.domain.errors import Unavailable
from workflows.domain.ids import Prefix, ScheduleId
from workflows.domain.schedules.recurrence import Interval, Once, Recurrence
from workflows.domain.wire import FiringRequest

_CATCH_UP: Final = timedelta(minutes=1)  # later moments are found by their rows
_TASK: Final = timedelta(seconds=5)
_OWNER: Final = "queue"  # memo: whose schedule it is, as several Holdfasts may share a namespace


class EngineSchedules:
    """`task_queue`: the one that the settings name."""

    def __init__(self, client: Client, task_queue: str) -> None:
        self.client = client
        self.task_queue = task_queue

    async def create(self, wanted: EngineSchedule) -> None:
        """Create a schedule; one that exists stays. Raises Unavailable."""
        start = ScheduleActionStartWorkflow(
            ids.SCHEDULED_TYPE,
            FiringRequest(schedule=wanted.id),
            id=ids.scheduled_id(wanted.id),
            task_queue=queue(self.task_queue, wanted.host),
            task_timeout=_TASK,
        )
        # Buffered: a moment must not be lost because the run of the one before ends only now.
        policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.BUFFER_ONE, catchup_window=_CATCH_UP)
        schedule = Schedule(action=start, spec=schedule_spec(wanted.recurrence, wanted.zone), policy=policy)
        with _described(f"take schedule {wanted.id}"):
            try:
                await self.client.create_schedule(wanted.id, schedule, memo={_OWNER: self.task_queue})
            except ScheduleAlreadyRunningError:
                return

    async def delete(self, schedule: ScheduleId) -> None:
        """Delete a schedule, if it is there. Raises Unavailable."""
        with _described(f"delete schedule {schedule}"):
            try:
                await self.client.get_schedule_handle(schedule).delete()
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise

    async def list_own(self) -> set[ScheduleId]:
        """This Holdfast's schedules; a new one appears with some delay. Raises Unavailable."""
        with _described("list its schedules"):
            listed = await self.client.list_schedules()
            return {
                ScheduleId(each.id)
                async for each in listed
                if ids.is_id(Prefix.SCHEDULE, each.id) and await each.memo_value(_OWNER, None) == self.task_queue
            }


def schedule_spec(recurrence: Recurrence, zone: str) -> ScheduleSpec:
    match recurrence:
        case Once(at=at):
            moment = at.astimezone(UTC)
            return ScheduleSpec(
                calendars=[
                    ScheduleCalendarSpec(
                        second=_ranges([moment.second]),
                        minute=_ranges([moment.minute]),
                        hour=_ranges([moment.hour]),
                        day_of_month=_ranges([moment.day]),
                        month=_ranges([moment.month]),
                        year=_ranges([moment.year]),
                    )
                ]
            )
        case Interval(every=every):
            return ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)])
    return ScheduleSpec(
        calendars=[
            ScheduleCalendarSpec(
                minute=_ranges(recurrence.minutes),
                hour=_ranges(recurrence.hours),
                day_of_month=_ranges(recurrence.days),
                month=_ranges(recurrence.months),
                day_of_week=_ranges(recurrence.weekdays),
            )
        ],
        time_zone_name=zone,
    )


def _ranges(numbers: Sequence[int]) -> list[ScheduleRange]:
    """The ranges of consecutive numbers; `numbers` ascend."""
    found = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        found.append(ScheduleRange(members[0], members[-1]))
    return found


@contextmanager
def _described(failure: str) -> Iterator[None]:
    """Raises Unavailable."""
    try:
        yield
    except (RPCError, TimeoutError) as error:
        message: Any = error.message if isinstance(error, RPCError) else error
        raise Unavailable(f"Temporal does not {failure}: {message}") from error
