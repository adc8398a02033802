"""What a person does with schedules. Their rows decide: a worker has Temporal follow them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from activities.new_ids import new_id
from activities.store import overviews, schedule_records, schedules
from activities.store.schedule_records import RecordKind, ScheduleRecordRow
from activities.store.schedules import NewSchedule, ScheduledPrompt, ScheduleRow
from activities.store.statements import Statements
from worker.client_part import ClientPart
from worker.length_check import check_length
from worker.prompt_check import check_prompt_id, validate_prompt
from workflows.domain.budgets import BudgetLimits
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.ids import MessageId, Prefix, ScheduleId, SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.schedules.decision import Missed, Overlap, ScheduleState
from workflows.domain.schedules.recurrence import next_after
from workflows.domain.views.schedules import (
    ScheduleEntry,
    ScheduleEvent,
    ScheduleTiming,
    ScheduleVerification,
    TriggeredPrompt,
)

if TYPE_CHECKING:  # start-up time of commands
    from workflows.domain.config.turn_config import TurnConfig


class SchedulesClient(ClientPart):
    """A schedule prompts as the person who has made it."""

    async def start_sessions(
        self,
        directory: str,
        message: Prompt | str,
        timing: ScheduleTiming,
        *,
        title: str | None = None,
        environment: Mapping[str, str] | None = None,
        sources: ConfigSources | None = None,
        turn_config: "TurnConfig | None" = None,
        limits: BudgetLimits | None = None,
        overlap: Overlap = Overlap.SKIP,
        missed: Missed = Missed.RUN,
        schedule: ScheduleId | None = None,
    ) -> ScheduleEntry:
        """Have a session started at these times, as `SessionClient.start` starts one now; idempotent with the caller's
        id. Each session has the `limits`. Raises UsageError."""
        from worker.session_template import prepare_template  # as in `SessionClient`

        message = await asyncio.to_thread(validate_prompt, message)
        template = await prepare_template(
            self.settings, self.database, directory, message, title, environment, sources, turn_config
        )
        body = ScheduledPrompt(prompt=message, template=template, limits=limits)
        return await self._create(timing, body, self.settings.host, None, overlap, missed, schedule)

    async def prompt_session(
        self,
        session: SessionId,
        message: Prompt | str,
        timing: ScheduleTiming,
        *,
        overlap: Overlap = Overlap.QUEUE,
        missed: Missed = Missed.RUN,
        schedule: ScheduleId | None = None,
    ) -> ScheduleEntry:
        """Have one session prompted at these times, each time for a turn of its own. With `Overlap.QUEUE` a prompt may
        wait for an open turn, but one at most. Raises UsageError, NotFound, Conflict."""
        known = await overviews.get(self.database, session)
        if known.parent is not None:
            raise UsageError(f"Session {session!r} is a subagent's: a schedule prompts sessions that people started.")
        if known.archive is not None or known.status != "active":
            state = "is archived: `holdfast restore` brings it back" if known.archive else f"is {known.status}"
            raise Conflict(f"Session {session!r} {state}: it takes no prompt.")
        body = ScheduledPrompt(prompt=await asyncio.to_thread(validate_prompt, message))
        return await self._create(timing, body, known.host, session, overlap, missed, schedule)

    async def _create(
        self,
        timing: ScheduleTiming,
        body: ScheduledPrompt,
        host: str | None,
        session: SessionId | None,
        overlap: Overlap,
        missed: Missed,
        schedule: ScheduleId | None,
    ) -> ScheduleEntry:
        new = NewSchedule(
            id=schedule or ScheduleId(new_id(Prefix.SCHEDULE)),
            host=host,
            session=session,
            timing=timing.words,
            recurrence=timing.recurrence,
            zone=timing.zone,
            overlap=overlap,
            missed=missed,
            body=body,
        )
        return _entry(await schedules.create(self.database, new, self.actor))

    async def list_all(self, *, include_over: bool = False) -> list[ScheduleEntry]:
        """All schedules, the next due first; `include_over`: those that are done or deleted, too."""
        return [_entry(row) for row in await schedules.list_all(self.database, include_over=include_over)]

    async def get(self, schedule: ScheduleId) -> ScheduleEntry:
        """Raises NotFound."""
        found = await schedules.list_all(self.database, schedule=schedule, include_over=True)
        if not found:
            raise schedules.not_found(schedule)
        return _entry(found[0])

    async def events(self, schedule: ScheduleId) -> list[ScheduleEvent]:
        """What was done with a schedule, the newest first."""
        return [_event(row) for row in await schedule_records.newest(self.database, schedule)]

    async def verify(self, schedule: ScheduleId) -> ScheduleVerification:
        """Recompute the hash chain of its records. Raises NotFound."""
        found = await schedule_records.verify(self.database, schedule)
        if found is None:
            raise schedules.not_found(schedule)
        return found

    async def pause(self, schedule: ScheduleId, note: str | None = None) -> None:
        """Pause a schedule: what falls into the pause does not run. Raises NotFound, Conflict, UsageError."""
        check_length("The note", note or "")
        note = note.replace("\0", "").encode(errors="replace").decode() if note else None
        async with self._change(schedule, RecordKind.PAUSED, note) as (batch, row):
            _require(row, ScheduleState.ACTIVE, "is paused already")
            schedules.pause(batch, row, note)

    async def resume(self, schedule: ScheduleId) -> None:
        """Let a schedule go on from its next time. Raises NotFound, Conflict."""
        async with self._change(schedule, RecordKind.RESUMED) as (batch, row):
            _require(row, ScheduleState.PAUSED, "is not paused")
            next_at = next_after(row.recurrence, row.now, ZoneInfo(row.zone))
            if next_at is None:
                raise Conflict(
                    f"The time of schedule {schedule!r} has passed while it was paused: `holdfast schedules trigger "
                    f"{schedule}` runs it now."
                )
            schedules.resume(batch, row, next_at)

    async def trigger(self, schedule: ScheduleId, *, prompt: MessageId | None = None) -> TriggeredPrompt:
        """Prompt now, as this person, even while an earlier run works; its times stay. Idempotent with the caller's id.
        Raises NotFound, Conflict, and UsageError for an id that sorts too late."""
        from activities.session import scheduled_prompts  # few commands need it

        if prompt is not None:
            check_prompt_id(prompt)
        fired = await scheduled_prompts.trigger(self.database, schedule, prompt, self.actor)
        return TriggeredPrompt(schedule=schedule, **fired._asdict(), delivered=await self.deliver(fired.session))

    async def delete(self, schedule: ScheduleId) -> None:
        """Erase what a schedule prompts; its record and who deleted it stay, as do its sessions. Raises NotFound,
        Conflict."""
        async with self._change(schedule, RecordKind.DELETED) as (batch, row):
            if row.state is ScheduleState.DELETED:
                raise Conflict(f"Schedule {schedule!r} was deleted before.")
            schedules.erase(batch, row)

    @asynccontextmanager
    async def _change(
        self, schedule: ScheduleId, kind: RecordKind, note: str | None = None
    ) -> AsyncIterator[tuple[Statements, ScheduleRow]]:
        """Change a schedule under its lock, and record it."""
        async with self.database.statements() as batch:
            row = await schedules.lock(batch, schedule)
            yield batch, row
            schedule_records.record(batch, row.last_record, kind, self.actor.subject, note=note)


def _require(row: ScheduleRow, state: ScheduleState, otherwise: str) -> None:
    if row.state is not state:
        over = {ScheduleState.DONE: "is done", ScheduleState.DELETED: "was deleted"}
        raise Conflict(f"Schedule {row.id!r} {over.get(row.state, otherwise)}.")


def _entry(row: ScheduleRow) -> ScheduleEntry:
    template = row.body.template if row.body is not None else None
    own = set(ScheduleEntry.model_fields) & set(ScheduleRow.model_fields) - {"last"}
    return ScheduleEntry(
        **{name: getattr(row, name) for name in own},
        directory=template.directory if template is not None else None,
        title=template.given_title if template is not None else None,
        prompt=row.body.prompt if row.body is not None else None,
        limits=row.body.limits if row.body is not None else None,
        last=_event(row.last) if row.last is not None else None,
    )


def _event(row: ScheduleRecordRow) -> ScheduleEvent:
    return ScheduleEvent.model_validate(row, from_attributes=True)
