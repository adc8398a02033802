"""The sweeper: it resends signals until the engine knows, and sends none without need."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.cancellation import cancel_and_wait
from activities.store.database import Database
from tests.acceptance.database_proxy import database_proxy
from tests.activities.rig import ActivityRig, open_rig
from tests.harness import Harness, signals
from tests.polling import attempts
from tests.worker.conftest import client_without_engine, undelivered_prompt
from worker.engine_schedules import EngineSchedules
from worker.outbox import SignalSender
from worker.reconcile import Reconciler
from worker.schedule_reconciler import ScheduleReconciler
from worker.sweeper import Sweeper, sweep_lock
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskState


@pytest.fixture
def sweeper(harness: Harness) -> Sweeper:
    sender = SignalSender(harness.database, harness.temporal, harness.settings)
    schedules = ScheduleReconciler(
        harness.database, EngineSchedules(harness.temporal, harness.settings.task_queue), sender, period=30
    )
    reconciler = Reconciler(harness.database, harness.temporal, sender, period=30)
    return Sweeper(harness.database, sender, reconciler, schedules)


@pytest.fixture
async def lost(harness: Harness) -> SessionId:
    """A session with a prompt accepted two minutes ago while Temporal was away."""
    accepted = await undelivered_prompt(harness)
    await age(harness)
    return accepted.session


async def running(harness: Harness, session: SessionId) -> bool:
    try:
        run = await harness.workflow(session).describe()
    except RPCError:
        return False
    return run.status is WorkflowExecutionStatus.RUNNING


async def test_a_prompt_whose_signal_was_lost_is_signalled(harness: Harness, sweeper: Sweeper, lost: SessionId) -> None:
    assert not await running(harness, lost)
    await sweeper.sweep()
    assert await running(harness, lost)
    assert len(signals(await harness.history(lost))) == 1


async def test_a_projects_grant_reaches_the_sessions_that_its_door_did_not_get_to(
    harness: Harness, sweeper: Sweeper, tmp_path: Path
) -> None:
    one = await open_rig(harness.database, tmp_path)
    other = await open_rig(harness.database, tmp_path)
    (first, second) = [await writing(rig) for rig in (one, other)]
    await one.answer(first, Reply.ALWAYS, scope=GrantScope.PROJECT)
    await age(harness)
    await sweeper.sweep()
    assert (await other.ask_row(second)).state is AskState.ANSWERED


async def test_a_grant_that_cannot_reach_its_project_keeps_no_signal_waiting(
    harness: Harness, sweeper: Sweeper, lost: SessionId, tmp_path: Path
) -> None:
    one, other = await open_rig(harness.database, tmp_path), await open_rig(harness.database, tmp_path)
    first, second = [await writing(rig) for rig in (one, other)]
    await one.answer(first, Reply.ALWAYS, scope=GrantScope.PROJECT)
    await harness.database.rows(b"UPDATE ask SET body = '{}' WHERE id = %(ask)s", ask=second)
    await age(harness)
    for _ in range(2):
        await sweeper.sweep()
    assert await running(harness, lost)


async def writing(rig: ActivityRig) -> AskId:
    """An open ask for writing a file."""
    await rig.open_turn(permission={"edit": "ask"})
    return await rig.asked(await rig.called("write", filePath="sub/a.txt", content="x"))


async def test_a_run_that_has_not_come_to_it_yet_is_left_alone(
    harness: Harness, sweeper: Sweeper, lost: SessionId
) -> None:
    for _ in range(3):
        await sweeper.sweep()
    assert len(signals(await harness.history(lost))) == 1


async def test_one_sweeper_sweeps_at_a_time(harness: Harness) -> None:
    async with sweep_lock(harness.database) as first, sweep_lock(harness.database) as second:
        assert first is not None and second is None
    async with sweep_lock(harness.database) as again:
        assert again is not None


async def test_one_sweeper_works_at_a_time_and_the_others_open_no_connection(
    harness: Harness, sweeper: Sweeper, lost: SessionId
) -> None:
    async with sweep_lock(harness.database) as held:
        assert held is not None
        async with database_proxy(harness.endpoints.postgres_url) as between, Database(between.url) as database:
            await database.now()
            sweeper.database = database
            before = between.opened
            await sweeper.sweep_while_alone()
            assert between.opened == before and not await running(harness, lost)
        sweeper.database = harness.database
        sweeping = asyncio.create_task(sweeper.run())
        await held.close()  # as if its worker was lost
        await wait_until_running(harness, lost)
    cut = await harness.database.rows(CUT)
    assert cut and all(each["cut"] for each in cut)  # that of the one that took it, and perhaps what is left of ours
    again = (await undelivered_prompt(harness)).session
    await age(harness)
    await wait_until_running(harness, again)
    await cancel_and_wait(sweeping)


CUT = b"SELECT pg_terminate_backend(pid) AS cut FROM pg_locks WHERE locktype = 'advisory' AND objid = 1937204592"


async def wait_until_running(harness: Harness, session: SessionId) -> None:
    async for _ in attempts():
        if await running(harness, session):
            return


async def test_sweeping_goes_on_after_an_outage(harness: Harness, lost: SessionId) -> None:
    async with harness.running_worker():
        await harness.until(lost, lambda event: event.type == "turn.opened")
    assert (await harness.client.sessions.get(lost)).number == 1


async def test_a_session_that_cannot_be_signalled_does_not_keep_others_waiting(
    harness: Harness, sweeper: Sweeper, lost: SessionId
) -> None:
    endless = SessionId("ses_" + "x" * 2000)  # longer than the engine takes an id of a workflow
    async with client_without_engine(harness) as client:
        await client.start(str(harness.project), "Hello.", session=endless)
        await client.start(str(harness.project), "Hello.", session=SessionId("ses_odd"))
    await harness.database.rows(b"UPDATE session SET rules = '7' WHERE id = 'ses_odd'")
    await harness.database.rows(b"UPDATE outbox SET id = DEFAULT WHERE session = %(later)s", later=lost)  # comes last
    await age(harness)
    await sweeper.sweep()
    assert await running(harness, lost)


async def age(harness: Harness) -> None:
    """Date all signals and grants two minutes back."""
    async with harness.database.transaction() as connection:
        await connection.execute("UPDATE outbox SET created_at = now() - interval '2 minutes'")
        await connection.execute("UPDATE grant_ SET created_at = now() - interval '2 minutes'")
