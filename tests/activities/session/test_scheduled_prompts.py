"""A schedule's moments by its row: once each, as its author; and what people do with it."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from activities.session.deletion import Deletion
from activities.session.scheduled_prompts import fire, trigger
from activities.store import events, overviews, prompts, schedule_records, schedules, sessions
from activities.store.journal import session_journal
from activities.store.schedule_records import RecordKind
from activities.store.schedules import NewSchedule, ScheduledPrompt, ScheduleRow
from activities.store.sessions import SessionTemplate
from tests.activities.rig import PERSON, ActivityRig
from workflows.domain.actor import Actor
from workflows.domain.budgets import BudgetLimits
from workflows.domain.errors import Conflict
from workflows.domain.events.budgets import BudgetSet
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.ids import MessageId, Prefix, ScheduleId, SessionId, mint
from workflows.domain.prompt import Prompt
from workflows.domain.schedules.decision import Missed, Overlap, ScheduleState
from workflows.domain.schedules.timing import parse_every

SCHEDULE: Final = ScheduleId("sch_000000000001AAAAAAAAAAAAAA")
PROMPT: Final = MessageId("msg_000000000001AAAAAAAAAAAAAA")
OTHER: Final = Actor(subject="other@here", method="cli")


async def made(rig: ActivityRig, **fields: Any) -> ScheduleRow:
    limits = None if "session" in fields else BudgetLimits(steps=7)
    template = None if "session" in fields else SessionTemplate(directory=str(rig.project), agent="build")
    known: dict[str, Any] = {"overlap": Overlap.SKIP, "missed": Missed.RUN}
    body = ScheduledPrompt(prompt=Prompt.of_text("Sweep."), template=template, limits=limits)
    known |= {"recurrence": parse_every("hourly")}
    new = NewSchedule(id=SCHEDULE, timing="hourly", zone="Etc/UTC", body=body, **(known | fields))
    return await schedules.create(rig.database, new, PERSON)


async def let_pass(rig: ActivityRig, ago: timedelta = timedelta(seconds=1)) -> None:
    await rig.database.rows(b"UPDATE schedule SET next_at = now() - %(ago)s", ago=ago)


async def kinds(rig: ActivityRig) -> list[RecordKind]:
    return [each.kind for each in reversed(await schedule_records.newest(rig.database, SCHEDULE))]


async def row(rig: ActivityRig) -> ScheduleRow:
    (found,) = await schedules.list_all(rig.database, schedule=SCHEDULE, include_over=True)
    return found


async def finish(rig: ActivityRig, session: SessionId) -> None:
    """Its prompt is not at work any more."""
    await rig.database.rows(b"UPDATE work SET state = 'withdrawn' WHERE session = %(session)s", session=session)


async def test_a_moment_is_prompted_once_however_many_look_at_it(rig: ActivityRig) -> None:
    await made(rig)
    await let_pass(rig, -timedelta(minutes=10))
    assert (
        await fire(rig.database, SCHEDULE, datetime.now(UTC) + timedelta(hours=2)) is None
    )  # by a clock that is ahead
    await let_pass(rig)
    fired = [each for each in await asyncio.gather(*(fire(rig.database, SCHEDULE) for _ in range(5))) if each]
    (one,) = fired
    overview = await overviews.get(rig.database, one.session)
    assert await sessions.last_used(rig.database, str(rig.project), None) == rig.session  # nobody has used the other
    log = [each.event async for each in events.after(rig.database, one.session)]

    assert await kinds(rig) == [RecordKind.CREATED, RecordKind.STARTED]
    assert (overview.schedule, overview.directory, overview.waiting) == (SCHEDULE, str(rig.project), 1)
    assert [each.schedule for each in log if isinstance(each, PromptAccepted)] == [SCHEDULE]
    assert [each.steps for each in log if isinstance(each, BudgetSet)] == [7]


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        (Overlap.SKIP, ["started", "skipped", "skipped"]),
        (Overlap.QUEUE, ["started", "queued", "skipped", "started"]),  # one waits at most
    ],
)
async def test_a_run_that_falls_into_the_one_before_is_left_out_or_follows_it(
    rig: ActivityRig, overlap: Overlap, expected: list[str]
) -> None:
    await made(rig, overlap=overlap)
    await let_pass(rig)
    first = await fire(rig.database, SCHEDULE)
    assert first is not None
    for _ in range(2):
        await let_pass(rig)
        assert await fire(rig.database, SCHEDULE) is None
    waiting = await schedules.overdue(rig.database, 10)
    await finish(rig, first.session)
    await fire(rig.database, SCHEDULE)

    assert (await kinds(rig))[1:] == expected and waiting == ([SCHEDULE] if overlap is Overlap.QUEUE else [])


async def test_a_hundred_schedules_that_fail_do_not_keep_the_others_waiting(rig: ActivityRig) -> None:
    await made(rig)
    copied = b"timing, recurrence, zone, overlap, missed, body, author, head"
    numbers = b"generate_series(1, 100) AS number"
    await rig.database.rows(
        b"INSERT INTO schedule (id, %b) SELECT 'sch_' || number, %b FROM schedule, %b" % (copied, copied, numbers)
    )
    await let_pass(rig, timedelta(minutes=1))
    overdue = {each for _ in range(40) for each in await schedules.overdue(rig.database, 10)}
    unsent = {each.id for _ in range(40) for each in await schedules.unsent(rig.database)}
    assert len(overdue) == len(unsent) == 101


async def test_a_session_is_prompted_again_and_one_prompt_at_most_waits_in_it(rig: ActivityRig) -> None:
    await made(rig, session=rig.session, overlap=Overlap.QUEUE)
    for _ in range(2):
        await let_pass(rig)
        await fire(rig.database, SCHEDULE)
    accepted = [each for each in await rig.events() if isinstance(each, PromptAccepted)]

    assert [(each.schedule, each.mode) for each in accepted] == [(SCHEDULE, "queue")]
    assert (await kinds(rig))[1:] == [RecordKind.STARTED, RecordKind.SKIPPED]


async def test_a_session_that_takes_no_prompt_pauses_its_schedule_with_the_reason(rig: ActivityRig) -> None:
    await made(rig, session=rig.session, overlap=Overlap.QUEUE)
    async with session_journal(rig.database, rig.session, PERSON) as journal:
        await journal.locked()
        await sessions.end(journal, "over")
    await let_pass(rig)
    assert await fire(rig.database, SCHEDULE) is None
    found = await row(rig)

    assert (found.state, found.trouble) == (ScheduleState.PAUSED, None) and "has ended" in (found.note or "")
    assert (await kinds(rig))[1:] == [RecordKind.REFUSED, RecordKind.PAUSED]


async def test_a_moment_that_temporals_clock_has_brought_early_does_not_come_again_after_a_pause(
    rig: ActivityRig,
) -> None:
    early = (await made(rig, recurrence=parse_every("1m"))).next_at
    assert early is not None and await fire(rig.database, SCHEDULE, early) is not None
    following = (await row(rig)).next_at
    async with rig.database.statements() as batch:
        schedules.pause(batch, await schedules.lock(batch, SCHEDULE), None)
        schedules.resume(batch, await schedules.lock(batch, SCHEDULE), early)

    assert (await row(rig)).next_at == following == early + timedelta(minutes=1)


async def test_a_person_who_triggers_it_prompts_as_themselves_once_and_its_times_stay(rig: ActivityRig) -> None:
    before = await made(rig)
    fired = [await trigger(rig.database, SCHEDULE, PROMPT, OTHER) for _ in range(2)]
    records = [each async for each in events.after(rig.database, fired[0].session)]

    assert fired[0] == fired[1] and (await row(rig)).next_at == before.next_at
    assert {each.actor.subject for each in records} == {OTHER.subject}
    assert (await kinds(rig))[1:] == [RecordKind.TRIGGERED]


async def test_a_prompt_sorts_behind_one_of_a_clock_that_is_ahead_without_an_answer(rig: ActivityRig) -> None:
    await made(rig, session=rig.session)
    ahead = MessageId(mint(Prefix.MESSAGE, time.time_ns() // 1_000_000 + 60_000, 0, random.Random(1)))
    async with rig.journal() as journal:
        await prompts.accept(journal, ahead, Prompt.of_text("Go.", model="scripted/model"))
    await rig.load()
    triggered = await trigger(rig.database, SCHEDULE, None, OTHER)
    assert triggered.prompt > ahead and (await trigger(rig.database, SCHEDULE, None, OTHER)).prompt > triggered.prompt


async def test_a_session_that_a_schedule_prompts_is_not_deleted_before_the_schedule(rig: ActivityRig) -> None:
    await made(rig, session=rig.session)
    deletion = Deletion(rig.database, rig.project, None, PERSON)
    with pytest.raises(Conflict, match=f"Schedule {SCHEDULE} prompts"):
        await deletion.run(rig.session)
    async with rig.database.statements() as batch:
        schedules.erase(batch, await schedules.lock(batch, SCHEDULE))
    found = await row(rig)
    await deletion.run(rig.session)

    assert (found.state, found.body) == (ScheduleState.DELETED, None)
    with pytest.raises(Conflict, match="was deleted"):
        await trigger(rig.database, SCHEDULE, PROMPT, OTHER)


async def recorded(rig: ActivityRig) -> None:
    """Made, paused with a note by another person, and triggered."""
    await made(rig)
    async with rig.database.statements() as batch:
        found = await schedules.lock(batch, SCHEDULE)
        schedules.pause(batch, found, "until then")
        schedule_records.record(batch, found.last_record, RecordKind.PAUSED, OTHER.subject, note="until then")
    await trigger(rig.database, SCHEDULE, PROMPT, OTHER)


async def problem(rig: ActivityRig) -> str | None:
    verified = await schedule_records.verify(rig.database, SCHEDULE)
    assert verified is not None and len(verified.head) == 64
    return verified.problem


async def test_the_records_verify_and_their_texts_can_be_erased(rig: ActivityRig) -> None:
    assert await schedule_records.verify(rig.database, SCHEDULE) is None
    await recorded(rig)
    assert await problem(rig) is None
    async with rig.database.statements() as batch:
        found = await schedules.lock(batch, SCHEDULE)
        schedules.erase(batch, found)
        schedule_records.record(batch, found.last_record, RecordKind.DELETED, PERSON.subject)
    (_, _, paused, _) = left = await schedule_records.newest(rig.database, SCHEDULE)
    assert await problem(rig) is None and left[0].author == PERSON.subject
    assert paused.note is None and paused.seal is not None


TAMPERING: Final = {
    b"UPDATE schedule_record SET author = 'x' WHERE seq = 2": "record 2 (paused) is not what was hashed",
    b"UPDATE schedule_record SET at = now() WHERE seq = 3": "record 3 (triggered) is not what was hashed",
    b"UPDATE schedule_record SET note = 'x' WHERE seq = 2": "record 2 (paused): the note was changed afterwards",
    b"UPDATE schedule_record SET salt = NULL WHERE seq = 2": "record 2 (paused): the note was changed afterwards",
    b"DELETE FROM schedule_record WHERE seq = 2": "record 2 is missing (the next one there is 3)",
    b"DELETE FROM schedule_record WHERE seq > 1": "records 2 to 3 are missing at the end",
    b"UPDATE schedule SET seq = 2": "the schedule's row names another last record",
    b"UPDATE schedule SET author = 'x'": "record 1 (created): the schedule that it has made was changed afterwards",
    b"UPDATE schedule SET body = '{}'": "record 1 (created): the schedule that it has made was changed afterwards",
}


@pytest.mark.parametrize(("tampering", "expected"), TAMPERING.items(), ids=range(len(TAMPERING)))
async def test_what_was_changed_afterwards_is_named(rig: ActivityRig, tampering: bytes, expected: str) -> None:
    await recorded(rig)
    await rig.database.rows(tampering)
    assert await problem(rig) == expected


async def test_a_paused_schedule_prompts_nothing_whoever_looks_at_it(rig: ActivityRig) -> None:
    await made(rig)
    await rig.database.rows(b"UPDATE schedule SET state = 'paused'")
    await let_pass(rig)
    assert await fire(rig.database, SCHEDULE) is None
    assert await kinds(rig) == [RecordKind.CREATED]
