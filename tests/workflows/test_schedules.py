"""Schedules on a real Temporal: it wakes, the rows decide."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.workflowservice.v1 import ListScheduleMatchingTimesRequest
from temporalio.client import Client, ScheduleActionStartWorkflow, WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.store.schedules import EngineSchedule
from tests.harness import ACTOR, Harness
from tests.histories.history_scenarios import DONE
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from worker.engine_schedules import EngineSchedules
from worker.outbox import SignalSender
from worker.schedule_reconciler import ScheduleReconciler
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.sessions import SessionCreated
from workflows.domain.ids import ScheduleId
from workflows.domain.prompt import Prompt
from workflows.domain.schedules.decision import Missed
from workflows.domain.schedules.recurrence import Recurrence, next_after
from workflows.domain.schedules.timing import parse_every
from workflows.domain.views.schedules import ScheduleEntry, ScheduleEvent, ScheduleTiming

DAILY: Final = ScheduleTiming(words="daily 2:00", recurrence=parse_every("daily 2:00"), zone="Europe/Berlin")
SECRET: Final = "Sweep the floor."


@pytest.fixture
def with_sweeper() -> bool:
    return False


async def made(harness: Harness, **more: Any) -> ScheduleEntry:
    message = Prompt.of_text(SECRET, model="scripted/model")
    return await harness.client.schedules.start_sessions(str(harness.project), message, DAILY, **more)


def reconciler(harness: Harness) -> ScheduleReconciler:
    sender = SignalSender(harness.database, harness.temporal, harness.settings)
    return ScheduleReconciler(harness.database, engine(harness), sender, period=0)


def engine(harness: Harness) -> EngineSchedules:
    return EngineSchedules(harness.temporal, harness.settings.task_queue)


async def let_pass(harness: Harness, schedule: ScheduleId, ago: timedelta = timedelta(seconds=1)) -> None:
    """Its moment was so long ago."""
    query = b"UPDATE schedule SET next_at = now() - %(ago)s WHERE id = %(schedule)s"
    await harness.database.rows(query, schedule=schedule, ago=ago)


async def outcomes(harness: Harness, schedule: ScheduleId) -> list[str]:
    """Of its moments, and what people did; the oldest first."""
    return [each.kind for each in reversed(await harness.client.schedules.events(schedule))]


async def is_known(temporal: Client, schedule: ScheduleId) -> bool:
    try:
        await temporal.get_schedule_handle(schedule).describe()
    except RPCError:
        return False
    return True


async def until_listed(harness: Harness, schedules: set[ScheduleId]) -> None:
    """Temporal lists a new schedule, or not a deleted one any more, with a delay."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while await engine(harness).list_own() != schedules:
            await asyncio.sleep(0.1)


async def test_temporal_wakes_at_its_moment_and_the_row_says_once_what_is_due(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        entry = await made(harness, title="Sweeping")
        await reconciler(harness).reconcile()
        handle = harness.temporal.get_schedule_handle(entry.id)
        described = await handle.describe()
        await handle.trigger()  # nothing is due
        await until_closed(harness, entry.id, 1)
        early = await harness.client.sessions.list_recent()
        await let_pass(harness, entry.id)
        for runs in (2, 3):  # twice for one moment
            await handle.trigger()
            await until_closed(harness, entry.id, runs)
        (overview,) = await harness.client.sessions.list_recent()
        await harness.ended(overview.id)
        created, accepted = (await harness.events(overview.id))[0], await accepted_prompt(harness, overview.id)
        records = [each.record async for each in harness.client.records.log(overview.id)]
        request = harness.model.last_request
        after = await harness.client.schedules.get(entry.id)
        await handle.delete()

    action = described.schedule.action
    assert isinstance(action, ScheduleActionStartWorkflow) and action.task_queue == harness.settings.task_queue
    assert described.info.next_action_times[0] == entry.next_at and SECRET not in str(described.raw_description)
    assert early == [] and overview.title == "Sweeping" and overview.schedule == entry.id
    assert isinstance(created, SessionCreated) and created.schedule == accepted.schedule == entry.id
    assert accepted.due is not None and (records[0].actor.subject, records[0].actor.method) == (
        ACTOR.subject,
        "schedule",
    )
    assert after.last is not None and after.next_at == entry.next_at
    assert (after.last.kind, after.last.session) == ("started", overview.id)
    assert request is not None and "'plan_enter'" not in str(request.body["tools"])


async def accepted_prompt(harness: Harness, session: Any) -> PromptAccepted:
    found = [each for each in await harness.events(session) if isinstance(each, PromptAccepted)]
    assert len(found) == 1
    return found[0]


async def until_closed(harness: Harness, schedule: ScheduleId, runs: int) -> None:
    """As many runs of its workflow have ended."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:
            actions = (await harness.temporal.get_schedule_handle(schedule).describe()).info.recent_actions
            handles = [harness.temporal.get_workflow_handle(each.action.workflow_id) for each in actions]  # type: ignore[attr-defined]  # these start workflows
            ended = [await each.describe() for each in handles]
            if [each.status for each in ended] == [WorkflowExecutionStatus.COMPLETED] * runs:
                return
            await asyncio.sleep(0.1)


async def test_temporals_schedules_are_made_and_deleted_as_the_rows_say(open_harness: Open) -> None:
    async with open_harness() as harness:
        entry, other = await made(harness), await made(harness)
        foreign = EngineSchedules(harness.temporal, "another-holdfast")
        theirs = unsent("sch_000000000000AAAAAAAAAAAAAA", DAILY.recurrence, DAILY.zone)
        await foreign.create(theirs)
        await reconciler(harness).reconcile()
        await until_listed(harness, {entry.id, other.id})
        await engine(harness).delete(entry.id)  # Temporal has lost it
        await until_listed(harness, {other.id})
        await reconciler(harness).reconcile()
        again = await is_known(harness.temporal, entry.id)
        await harness.client.schedules.delete(entry.id)
        await harness.client.schedules.pause(other.id, "not now")
        await reconciler(harness).reconcile()
        gone = [await is_known(harness.temporal, each) for each in (entry.id, other.id, theirs.id)]
        await engine(harness).create(theirs.model_copy(update={"id": entry.id}))  # Temporal's file was restored
        await until_listed(harness, {entry.id})
        await reconciler(harness).reconcile()
        restored = await is_known(harness.temporal, entry.id)
        await foreign.delete(theirs.id)

    assert again and gone == [False, False, True] and not restored


@pytest.mark.parametrize("missed", Missed)
async def test_what_was_missed_while_all_was_down_runs_once_or_not(open_harness: Open, missed: Missed) -> None:
    async with open_harness(DONE) as harness:
        entry = await made(harness, missed=missed)
        await let_pass(harness, entry.id, timedelta(days=9))
        async with harness.running_worker(with_sweeper=True):
            await asyncio.gather(*(reconciler(harness).reconcile() for _ in range(2)))  # of other workers
            last = await run_of(harness, entry.id)
            if last.session is not None:
                await harness.ended(last.session)
        found, kinds = await harness.client.sessions.list_recent(), await outcomes(harness, entry.id)
        await engine(harness).delete(entry.id)

    outcome, sessions = {Missed.RUN: ("started", 1), Missed.SKIP: ("missed", 0)}[missed]
    assert kinds == ["created", outcome] and len(found) == sessions
    assert last.nominal is not None and datetime.now(UTC) - last.nominal < timedelta(days=1)


async def run_of(harness: Harness, schedule: ScheduleId) -> ScheduleEvent:
    """What came of its first moment."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while (last := (await harness.client.schedules.get(schedule)).last) is None:
            await asyncio.sleep(0.05)
        return last


async def test_our_calendar_is_temporals(temporal_client: Client, task_queue: str) -> None:
    """Around both changes of the clock; but for what the clock shows twice: there the rows decide."""
    engine = EngineSchedules(temporal_client, task_queue)
    forms = ("hourly", "daily 2:30", "weekdays 7:00", "15 */6 1,15 * *", "1h30m")
    for number, (text, zone) in enumerate(product(forms, ("Europe/Berlin", "America/New_York"))):
        recurrence = parse_every(text)
        schedule = unsent(f"sch_{number:012x}{task_queue[-14:]}", recurrence, zone)
        await engine.create(schedule)
        for begin in (datetime(2027, 3, 10, tzinfo=UTC), datetime(2027, 10, 25, tzinfo=UTC)):
            end = begin + timedelta(days=30)
            theirs = await matching_times(temporal_client, schedule.id, begin, end)
            ours = times_between(recurrence, zone, begin, end)
            differing = {*theirs} ^ {*ours}
            assert all(is_shown_twice(each.astimezone(ZoneInfo(zone))) for each in differing), (text, zone, differing)
            assert len(ours) > 2 and len(differing) <= 2
        await engine.delete(schedule.id)


BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
SPRING: Final = {BERLIN: "2027-03-28", NEW_YORK: "2027-03-14"}  # from 2:00 on it is 3:00
AUTUMN: Final = {BERLIN: "2027-10-31", NEW_YORK: "2027-11-07"}  # Berlin shows 2:00 to 3:00 twice, New York 1:00 to 2:00


@pytest.mark.parametrize(
    ("text", "zone", "spring", "autumn"),
    [
        ("daily 1:30", BERLIN, "1:30", "1:30"),
        ("daily 1:30", NEW_YORK, "1:30", "1:30"),  # not twice, as at Temporal: a day's run is one
        ("daily 2:30", BERLIN, "", "2:30"),  # the first time; Temporal takes the second
        ("daily 2:30", NEW_YORK, "", "2:30"),
        ("daily 3:00", BERLIN, "3:00", "3:00"),
        ("0,20,40 2 * * *", BERLIN, "", "2:00 2:20 2:40"),  # Temporal: 2:00, and 3:20, which is no time of it
        ("30 * * * *", BERLIN, "0:30 1:30 3:30", "0:30 1:30 2:30 2:30 3:30"),  # each hour; Temporal leaves one out
        ("30 * * * *", NEW_YORK, "0:30 1:30 3:30", "0:30 1:30 1:30 2:30 3:30"),
        ("30 0-3 * * *", BERLIN, "0:30 1:30 3:30", "0:30 1:30 2:30 3:30"),  # hours by name: each once
        ("1h30m", BERLIN, "1:00 3:30", "0:30 2:00 2:30"),  # counted, not shown
    ],
)
async def test_on_the_days_of_a_clock_change_the_rows_have_their_own_times(
    temporal_client: Client, task_queue: str, text: str, zone: str, spring: str, autumn: str
) -> None:
    """In spring they are Temporal's. In autumn Temporal runs some twice, leaves out others, and adds one: the rows say
    what is due, and the sweeper finds what Temporal leaves out."""
    engine, recurrence = EngineSchedules(temporal_client, task_queue), parse_every(text)
    schedule = unsent(f"sch_{0:012x}{task_queue[-14:]}", recurrence, zone)
    await engine.create(schedule)
    found = {}
    for day in (SPRING[zone], AUTUMN[zone]):
        begin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
        end = begin + timedelta(hours=12)
        found[day] = (
            times_between(recurrence, zone, begin, end),
            await matching_times(temporal_client, schedule.id, begin, end),
        )
    await engine.delete(schedule.id)
    ours = [" ".join(_on_clock(zone, found[day][0])) for day in (SPRING[zone], AUTUMN[zone])]
    assert ours == [spring, autumn]
    assert found[SPRING[zone]][0] == found[SPRING[zone]][1]


def _on_clock(zone: str, moments: list[datetime]) -> list[str]:
    """Before four in the morning."""
    local = [moment.astimezone(ZoneInfo(zone)) for moment in moments]
    return [f"{each.hour}:{each:%M}" for each in local if each.hour < 4]


def is_shown_twice(local: datetime) -> bool:
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def unsent(schedule: str, recurrence: Recurrence, zone: str) -> EngineSchedule:
    fields: dict[str, Any] = {"host": None, "version": 1, "trouble": None, "wanted": True}
    return EngineSchedule(id=ScheduleId(schedule), recurrence=recurrence, zone=zone, **fields)


def times_between(recurrence: Recurrence, zone: str, begin: datetime, end: datetime) -> list[datetime]:
    found, moment = [], begin
    while (following := next_after(recurrence, moment, ZoneInfo(zone))) is not None and following <= end:
        found.append(following)
        moment = following
    return found


async def matching_times(client: Client, schedule: ScheduleId, begin: datetime, end: datetime) -> list[datetime]:
    first, last = Timestamp(), Timestamp()
    first.FromDatetime(begin)
    last.FromDatetime(end)
    request = ListScheduleMatchingTimesRequest(
        namespace=client.namespace, schedule_id=schedule, start_time=first, end_time=last
    )
    found = await client.workflow_service.list_schedule_matching_times(request)
    return [each.ToDatetime(tzinfo=UTC) for each in found.start_time]
