"""The sweeper: it resends signals until the engine knows, and sends none without need."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.store import sessions
from tests.activities.rig import ActivityRig, open_rig
from tests.harness import Harness, signals
from tests.polling import WAIT_TIMEOUT
from tests.worker.conftest import client_without_engine, undelivered_prompt
from worker.outbox import SignalSender, workflow_id
from worker.sweeper import Sweeper, stuck_reason, sweep_lock
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskState


@pytest.fixture
def sweeper(harness: Harness) -> Sweeper:
    return Sweeper(
        harness.database, harness.temporal, SignalSender(harness.database, harness.temporal, harness.settings)
    )


@pytest.fixture
async def lost(harness: Harness) -> SessionId:
    """A session with a prompt accepted two minutes ago while Temporal was away."""
    accepted = await undelivered_prompt(harness)
    await age(harness)
    return accepted.session


async def running(harness: Harness, session: SessionId) -> bool:
    try:
        run = await harness.temporal.get_workflow_handle(workflow_id(session)).describe()
    except RPCError:
        return False
    return run.status is WorkflowExecutionStatus.RUNNING


async def test_a_prompt_whose_signal_was_lost_is_signalled(harness: Harness, sweeper: Sweeper, lost: SessionId) -> None:
    assert not await running(harness, lost)
    await sweeper.sweep()
    assert await running(harness, lost)
    assert len(signals(await harness.history(lost))) == 1


async def test_the_more_time_a_list_of_all_runs_takes_the_more_rarely_it_is_asked_for(harness: Harness) -> None:
    session, sender = (
        await harness.start_session("Hello."),
        SignalSender(harness.database, harness.temporal, harness.settings),
    )
    always, once = (Sweeper(harness.database, harness.temporal, sender, list_backoff) for list_backoff in (0.0, 1e9))
    async with asyncio.timeout(WAIT_TIMEOUT):
        while workflow_id(session) not in (await always.open_runs() or ()):
            await asyncio.sleep(0.05)
    assert workflow_id(session) in (await once.open_runs() or ()) and await once.open_runs() is None


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


async def test_work_without_a_run_wakes_its_session(harness: Harness, sweeper: Sweeper) -> None:
    session = await harness.start_session("Hello.")
    await harness.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await age(harness)
    await sweeper.sweep()
    assert await running(harness, session)


async def test_a_session_that_has_just_moved_has_a_run_and_costs_no_look(harness: Harness, sweeper: Sweeper) -> None:
    session = await harness.start_session("Hello.")
    await harness.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await sweeper.sweep()
    assert not await running(harness, session)


async def test_an_idle_session_is_not_woken(harness: Harness, sweeper: Sweeper) -> None:
    session = await harness.start_session("Hello.")
    await harness.client.stop(session)
    await harness.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await age(harness)
    await sweeper.sweep()
    assert not await running(harness, session)


async def test_one_sweeper_sweeps_at_a_time(harness: Harness) -> None:
    async with sweep_lock(harness.database) as first, sweep_lock(harness.database) as second:
        assert (first, second) == (True, False)
    async with sweep_lock(harness.database) as again:
        assert again


async def test_one_sweeper_works_at_a_time(harness: Harness, sweeper: Sweeper, lost: SessionId) -> None:
    async with sweep_lock(harness.database):
        await sweeper.sweep()
        assert not await running(harness, lost)
    await sweeper.sweep()
    assert await running(harness, lost)


async def test_a_session_that_goes_on_is_not_called_stuck_any_more(harness: Harness, sweeper: Sweeper) -> None:
    session = await harness.start_session("Hello.")
    await sessions.mark_stuck(harness.database, session, "its task fails")
    await sweeper.sweep()
    assert (await harness.client.sessions.get(session)).stuck is None


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
    await age(harness)
    await sweeper.sweep()
    assert await running(harness, lost)


async def test_a_run_whose_task_keeps_failing_is_called_stuck(harness: Harness) -> None:
    run = await described(harness)
    assert stuck_reason(run) is None
    run.raw_description.pending_workflow_task.attempt = 3
    assert stuck_reason(run) == "its workflow task has failed 2 times; the worker's log says why"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("KeyError", "its activity holdfast.turns.close has failed 5 times: KeyError"),
        ("ProviderFailed", None),
        ("Unavailable", None),
    ],
)
async def test_an_activity_that_keeps_failing_is_a_reason_unless_something_is_away(
    harness: Harness, kind: str, why: str | None
) -> None:
    run = await described(harness)
    pending = run.raw_description.pending_activities.add(attempt=6)
    pending.activity_type.name = "holdfast.turns.close"
    pending.last_failure.application_failure_info.type = kind
    assert stuck_reason(run) == why


async def test_a_stuck_session_without_work_is_let_go_and_not_woken(harness: Harness, sweeper: Sweeper) -> None:
    session = await harness.start_session("Hello.")
    await harness.client.stop(session)
    await harness.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await sessions.mark_stuck(harness.database, session, "its task fails")
    await sweeper.sweep()
    assert not await running(harness, session) and (await harness.client.sessions.get(session)).stuck is None


async def described(harness: Harness) -> WorkflowExecutionDescription:
    """The engine's description of a run without any activity yet."""
    session = await harness.start_session("Hello.")
    return await harness.temporal.get_workflow_handle(workflow_id(session)).describe()


async def age(harness: Harness) -> None:
    """Date all signals, grants and last moves of sessions two minutes back."""
    async with harness.database.transaction() as connection:
        await connection.execute("UPDATE session_head SET updated_at = now() - interval '2 minutes'")
        await connection.execute("UPDATE outbox SET created_at = now() - interval '2 minutes'")
        await connection.execute("UPDATE grant_ SET created_at = now() - interval '2 minutes'")
