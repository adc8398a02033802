"""At a schedule's moment its prompt is accepted, once, as a door accepts it."""

from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

from temporalio import activity

from activities.calls.subagent import Deliver
from activities.failpoints import failpoint
from activities.new_ids import new_id
from activities.store import budgets, prompts, schedule_records, schedules, sessions
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, announce
from activities.store.schedule_records import FiredPrompt, RecordKind
from activities.store.schedules import ScheduledPrompt, ScheduleRow
from activities.store.sessions import NewSession, SessionTemplate
from activities.store.statements import Statements
from workflows.domain import titles
from workflows.domain.actor import Actor
from workflows.domain.errors import Conflict, NotFound, Unavailable
from workflows.domain.ids import MessageId, Prefix, ScheduleId, SessionId
from workflows.domain.prompt import PromptMode
from workflows.domain.schedules.decision import CLOCK_TOLERANCE, FiringDecision, FiringOutcome, ScheduleState, decide
from workflows.domain.wire import FiringRequest


class ScheduleActivities:
    """A second run finds in the row that nothing is due any more."""

    def __init__(self, database: Database, deliver: Deliver) -> None:
        self.database = database
        self.deliver = deliver

    @activity.defn(name="holdfast.schedules.fire")
    async def fire(self, request: FiringRequest) -> None:
        """Prompt what is due. A schedule that is gone has nothing due."""
        with suppress(NotFound):
            fired = await fire(self.database, request.schedule, request.nominal)
            await failpoint("schedule.fired")
            if fired is not None:
                with suppress(Unavailable):  # the sweeper sends it
                    await self.deliver(fired.session)


async def fire(database: Database, schedule: ScheduleId, nominal: datetime | None = None) -> FiredPrompt | None:
    """Decide about what is due by a schedule's row, and accept its prompt as the schedule's author, in one transaction.

    `nominal`: the moment by Temporal's clock, which may be a little ahead. None: nothing was prompted. Raises NotFound.
    """
    journal = fired = None
    async with database.statements() as batch:
        row = await schedules.lock(batch, schedule)
        if row.state is not ScheduleState.ACTIVE or row.body is None:
            return None
        now = row.now if nominal is None else max(row.now, min(nominal, row.now + CLOCK_TOLERANCE))
        busy = await schedules.is_busy(batch, row)
        decision = decide(row.timetable, now, ZoneInfo(row.zone), busy=busy)
        if decision is None:
            return None
        refusal = None
        if decision.outcome is FiringOutcome.STARTED:
            author = Actor(subject=row.author, method="schedule")
            try:
                journal, fired = await _accept(database, batch, row, row.body, None, author, decision.nominal)
            except Conflict as error:  # the session has ended, or is archived or deleted
                refusal = str(error)
        _settle(batch, row, decision, fired, refusal)
    if journal is not None:
        announce(database, journal)
    return fired


async def trigger(database: Database, schedule: ScheduleId, prompt: MessageId | None, actor: Actor) -> FiredPrompt:
    """Accept a schedule's prompt now, as the person who wants it, once per id. Its times stay as they are.

    Raises NotFound, Conflict for a deleted schedule, or a session that takes no prompt.
    """
    async with database.statements() as batch:
        row = await schedules.lock(batch, schedule)
        if prompt is not None and (known := await schedules.triggered_by(batch, prompt)) is not None:
            if known[0] != schedule:
                raise Conflict(f"The id {prompt!r} belongs to a prompt of schedule {known[0]!r}; use a new id.")
            return FiredPrompt(known[1], prompt)
        if row.body is None:
            raise Conflict(f"Schedule {schedule!r} was deleted.")
        journal, fired = await _accept(database, batch, row, row.body, prompt, actor, None)
        schedule_records.record(batch, row.last_record, RecordKind.TRIGGERED, actor.subject, fired=fired)
    announce(database, journal)
    return fired


def _settle(
    batch: Statements, row: ScheduleRow, decision: FiringDecision, fired: FiredPrompt | None, refusal: str | None
) -> None:
    schedules.settle(batch, row, decision, refusal=refusal)
    kind = RecordKind.REFUSED if refusal is not None else RecordKind(decision.outcome)
    last = schedule_records.record(
        batch, row.last_record, kind, row.author, nominal=decision.nominal, fired=fired, note=refusal
    )
    if refusal is not None:
        schedule_records.record(batch, last, RecordKind.PAUSED, WORKER.subject, note=refusal)


async def _accept(
    database: Database,
    batch: Statements,
    row: ScheduleRow,
    body: ScheduledPrompt,
    prompt_id: MessageId | None,
    actor: Actor,
    due: datetime | None,
) -> tuple[Journal, FiredPrompt]:
    """The session's journal, appended. Raises Conflict before anything is written."""
    session = row.session or SessionId(new_id(Prefix.SESSION))
    if body.template is None:
        journal = Journal(batch, database.turn_configs, session, actor)
        prompt = body.prompt.model_copy(update={"mode": PromptMode.QUEUE})
    else:
        new = _session_of(row, body.template, body.prompt.text, session)
        created = await sessions.create_in(batch, database.turn_configs, new, actor)
        assert created is not None  # its id is new
        sessions.add_project(batch, new)
        journal, prompt = created, body.prompt
    fired = FiredPrompt(session, prompt_id or await prompts.mint(journal, journal.session))
    await prompts.accept(journal, fired.prompt, prompt, schedule=row.id, due=due)
    if body.limits is not None:
        await budgets.set_limits(journal, body.limits)
    journal.append()
    return journal, fired


def _session_of(row: ScheduleRow, template: SessionTemplate, text: str, session: SessionId) -> NewSession:
    sources = template.sources and template.sources.model_copy(update={"unattended": True})
    return NewSession(
        id=session,
        host=row.host,
        title=titles.first_line(text),
        default_title=titles.default_title(row.now),
        schedule=row.id,
        **dict(template) | {"sources": sources},
    )
