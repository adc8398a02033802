"""Schedules: which prompts come at which times."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from activities.store import schedule_records
from activities.store.database import Database, dumps
from activities.store.pg_server import query_row
from activities.store.queries import Queries
from activities.store.schedule_records import LastRecord, RecordKind, ScheduleRecordRow
from activities.store.sessions import SessionTemplate
from activities.store.statements import RowReader, Statements
from workflows.domain import hash_chain
from workflows.domain.actor import Actor
from workflows.domain.budgets import BudgetLimits
from workflows.domain.errors import NotFound, UsageError
from workflows.domain.ids import MessageId, ScheduleId, SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.schedules.decision import FiringDecision, Missed, Overlap, ScheduleState, Timetable
from workflows.domain.schedules.recurrence import Recurrence, next_after
from workflows.domain.value import Value

_QUERIES: Final = Queries("schedules")


class ScheduledPrompt(Value):
    """`template`: of each session that it starts; None where it prompts one that exists. `limits`: of each of them."""

    prompt: Prompt
    template: SessionTemplate | None = None
    limits: BudgetLimits | None = None


class NewSchedule(Value):
    id: ScheduleId
    host: str | None = None
    session: SessionId | None = None
    timing: str
    recurrence: Recurrence
    zone: str
    overlap: Overlap
    missed: Missed
    body: ScheduledPrompt


class ScheduleRow(NewSchedule):
    """`body`: None if it is deleted. `now`: by the database's clock. `last`: of its runs. `seq`, `head`: the end of its
    records."""

    body: ScheduledPrompt | None  # type: ignore[assignment]  # a new one has it
    state: ScheduleState
    author: str
    note: str | None
    next_at: datetime | None
    queued_for: datetime | None
    version: int
    trouble: str | None
    created_at: datetime
    now: datetime
    last: ScheduleRecordRow | None = None
    seq: int
    head: bytes

    @property
    def last_record(self) -> LastRecord:
        """The end of its records, as of its lock."""
        return LastRecord(self.id, self.seq, self.head, self.now)

    @property
    def timetable(self) -> Timetable:
        """When it is due. A session that is prompted again takes overlapping prompts into its own queue."""
        return Timetable(
            recurrence=self.recurrence,
            overlap=self.overlap if self.session is None else Overlap.SKIP,
            missed=self.missed,
            next_at=self.next_at,
            queued_for=self.queued_for,
        )


class EngineSchedule(Value):
    """What Temporal knows of a schedule. `wanted`: it is to have it."""

    id: ScheduleId
    host: str | None
    recurrence: Recurrence
    zone: str
    version: int
    trouble: str | None
    wanted: bool


class ScheduleTroubles(Value):
    """How many schedules Temporal refuses, why it refuses one of them, and how many wait for their moment to be
    noticed."""

    refused: int
    reason: str | None
    overdue: int


async def create(database: Database, new: NewSchedule, actor: Actor) -> ScheduleRow:
    """Create a schedule; an existing one stays. Raises UsageError for one that is never due."""
    async with database.statements() as batch:
        (clock,) = await batch.rows(b"SELECT now() AS now")
        next_at = next_after(new.recurrence, clock["now"], ZoneInfo(new.zone))
        if next_at is None:
            raise UsageError(f"{new.timing!r} never comes (it is {clock['now']:%Y-%m-%d %H:%M} UTC now).")
        values: dict[str, Any] = new.model_dump(exclude={"recurrence", "body"}) | {
            "recurrence": dumps(new.recurrence.model_dump(mode="json")),
            "body": dumps(new.body.model_dump(mode="json")),
            "author": actor.subject,
        }
        created = await batch.rows(_QUERIES.insert, **values, next_at=next_at, head=hash_chain.GENESIS)
        row = await lock(batch, new.id)
        if created:
            definition = schedule_records.definition(values)
            schedule_records.record(batch, row.last_record, RecordKind.CREATED, actor.subject, definition=definition)
        return row


async def lock(batch: Statements, schedule: ScheduleId) -> ScheduleRow:
    """Raises NotFound."""
    found = await batch.rows(_QUERIES.lock, id=schedule)
    if not found:
        raise not_found(schedule)
    return ScheduleRow(**found[0])


def not_found(schedule: ScheduleId) -> NotFound:
    return NotFound(f"There is no schedule {schedule!r}. `holdfast schedules` lists them.")


async def list_all(
    reader: RowReader, *, schedule: ScheduleId | None = None, include_over: bool = False
) -> list[ScheduleRow]:
    """All schedules, the next due first; `include_over`: those that are done or deleted, too."""
    rows = await reader.rows(_QUERIES.list_all, id=schedule, all=include_over)
    return [ScheduleRow(**row) for row in rows]


async def triggered_by(reader: RowReader, prompt: MessageId) -> tuple[ScheduleId, SessionId] | None:
    rows = await reader.rows(_QUERIES.of_prompt, prompt=prompt)
    return (rows[0]["schedule"], rows[0]["session"]) if rows else None


def settle(batch: Statements, row: ScheduleRow, decision: FiringDecision, *, refusal: str | None = None) -> None:
    """A `refusal` by its session pauses the schedule."""
    state = ScheduleState.PAUSED if refusal else ScheduleState.DONE if decision.done else row.state
    batch.write(
        _QUERIES.settle,
        id=row.id,
        next_at=decision.next_at,
        queued_for=decision.queued_for,
        state=state,
        note=refusal,
    )


def pause(batch: Statements, row: ScheduleRow, note: str | None) -> None:
    batch.write(_QUERIES.set_state, id=row.id, state=ScheduleState.PAUSED, note=note, next_at=row.next_at)


def resume(batch: Statements, row: ScheduleRow, next_at: datetime) -> None:
    batch.write(_QUERIES.set_state, id=row.id, state=ScheduleState.ACTIVE, note=None, next_at=next_at)


def erase(batch: Statements, row: ScheduleRow) -> None:
    batch.write(_QUERIES.erase, id=row.id)
    batch.write(_QUERIES.erase_notes, id=row.id)


async def is_busy(batch: Statements, row: ScheduleRow) -> bool:
    """Whether the run before is at work; of a session whose queue takes prompts, whether one waits in it."""
    queues = row.session is not None and row.overlap is Overlap.QUEUE
    if queues:
        (found,) = await batch.rows(_QUERIES.busy_queue, id=row.id)
    else:
        (found,) = await batch.rows(_QUERIES.busy_session, id=row.id, session=row.session)
    return bool(found["busy"])


async def unsent(reader: RowReader) -> list[EngineSchedule]:
    """Schedules that Temporal does not have as they are."""
    return [EngineSchedule(**row) for row in await reader.rows(_QUERIES.unsent)]


async def wanted(reader: RowReader) -> list[EngineSchedule]:
    return [EngineSchedule(**row) for row in await reader.rows(_QUERIES.wanted)]


async def mark_sent(database: Database, schedule: EngineSchedule, trouble: str | None = None) -> None:
    """Record that Temporal has the schedule as of that version, or refuses it."""
    await database.rows(_QUERIES.sent, id=schedule.id, version=schedule.version, trouble=trouble)


async def overdue(reader: RowReader, seconds: float) -> list[ScheduleId]:
    """Schedules whose moment passed `seconds` ago, or whose run waits for the one before."""
    return [row["id"] for row in await reader.rows(_QUERIES.overdue, seconds=seconds)]


async def pause_all(database: Database, note: str, actor: Actor) -> Sequence[ScheduleId]:
    """Pause all schedules; returns those that were active."""
    async with database.statements() as batch:
        active = [each.id for each in await wanted(batch)]
        for schedule in active:
            row = await lock(batch, schedule)
            pause(batch, row, note)
            schedule_records.record(batch, row.last_record, RecordKind.PAUSED, actor.subject, note=note)
    return active


async def of_session(reader: RowReader, session: SessionId) -> list[ScheduleId]:
    """The schedules that prompt this session."""
    return [row["id"] for row in await reader.rows(_QUERIES.of_session, session=session)]


async def troubles(url: str) -> ScheduleTroubles:
    query = """
        SELECT count(*) FILTER (WHERE trouble IS NOT NULL)::int, max(trouble),
               count(*) FILTER (WHERE state = 'active' AND next_at < now() - interval '1 minute')::int
        FROM holdfast.schedule
    """
    refused, why, waiting = await query_row(url, query)
    return ScheduleTroubles(refused=refused, reason=why, overdue=waiting)
