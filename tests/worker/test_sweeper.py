"""The sweeper: what was accepted is rung again until the engine knows, and nobody is rung for nothing."""

import asyncio
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.store import bells, sessions
from tests.activities.scene import Scene, scene_in
from tests.house import House
from tests.patience import PATIENCE
from tests.worker.conftest import cut_off, unheard
from worker.bells import Bells, workflow_id
from worker.sweeper import Sweeper, stuck
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskState


@pytest.fixture
def sweeper(house: House) -> Sweeper:
    return Sweeper(house.database, house.temporal, Bells(house.database, house.temporal, house.settings))


@pytest.fixture
async def lost(house: House) -> SessionId:
    """A session whose prompt was accepted two minutes ago while Temporal was away."""
    accepted = await unheard(house)
    await age(house)
    return accepted.session


async def signals(house: House, session: SessionId) -> int:
    history = await house.history(session)
    return sum(each.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED for each in history.events)


async def running(house: House, session: SessionId) -> bool:
    try:
        run = await house.temporal.get_workflow_handle(workflow_id(session)).describe()
    except RPCError:
        return False
    return run.status is WorkflowExecutionStatus.RUNNING


async def test_a_prompt_whose_bell_was_lost_is_rung(house: House, sweeper: Sweeper, lost: SessionId) -> None:
    assert not await running(house, lost)
    await sweeper.sweep()
    assert await running(house, lost)
    assert await signals(house, lost) == 1


async def test_the_more_time_a_list_of_all_runs_takes_the_more_rarely_it_is_asked_for(house: House) -> None:
    session, ringer = await house.say("Hello."), Bells(house.database, house.temporal, house.settings)
    always, once = (Sweeper(house.database, house.temporal, ringer, rarely) for rarely in (0.0, 1e9))
    async with asyncio.timeout(PATIENCE):
        while workflow_id(session) not in (await always.listed() or ()):
            await asyncio.sleep(0.05)
    assert workflow_id(session) in (await once.listed() or ()) and await once.listed() is None


async def test_a_projects_grant_reaches_the_sessions_that_its_door_did_not_get_to(
    house: House, sweeper: Sweeper, tmp_path: Path
) -> None:
    one = await scene_in(house.database, tmp_path)
    other = await scene_in(house.database, tmp_path)
    (first, second) = [await writing(scene) for scene in (one, other)]
    await one.answer(first, Reply.ALWAYS, scope=Scope.PROJECT)
    await age(house)
    await sweeper.sweep()
    assert (await other.ask_row(second)).state is AskState.ANSWERED


async def test_a_grant_that_cannot_reach_its_project_keeps_no_bell_waiting(
    house: House, sweeper: Sweeper, lost: SessionId, tmp_path: Path
) -> None:
    one, other = await scene_in(house.database, tmp_path), await scene_in(house.database, tmp_path)
    first, second = [await writing(scene) for scene in (one, other)]
    await one.answer(first, Reply.ALWAYS, scope=Scope.PROJECT)
    await house.database.rows(b"UPDATE ask SET body = '{}' WHERE id = %(ask)s", ask=second)
    await age(house)
    for _ in range(2):
        await sweeper.sweep()
    assert await running(house, lost)


async def writing(scene: Scene) -> AskId:
    """An open ask for writing a file."""
    await scene.open_turn(permission={"edit": "ask"})
    return await scene.asked(await scene.called("write", filePath="sub/a.txt", content="x"))


async def test_a_run_that_has_not_come_to_it_yet_is_left_alone(house: House, sweeper: Sweeper, lost: SessionId) -> None:
    for _ in range(3):
        await sweeper.sweep()
    assert await signals(house, lost) == 1


async def test_work_without_a_run_wakes_its_session(house: House, sweeper: Sweeper) -> None:
    session = await house.say("Hello.")
    await house.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await age(house)
    await sweeper.sweep()
    assert await running(house, session)


async def test_a_session_that_has_just_moved_has_a_run_and_costs_no_look(house: House, sweeper: Sweeper) -> None:
    session = await house.say("Hello.")
    await house.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await sweeper.sweep()
    assert not await running(house, session)


async def test_an_idle_session_is_not_woken(house: House, sweeper: Sweeper) -> None:
    session = await house.say("Hello.")
    await house.client.stop(session)
    await house.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await age(house)
    await sweeper.sweep()
    assert not await running(house, session)


async def test_one_sweeper_works_at_a_time(house: House, sweeper: Sweeper, lost: SessionId) -> None:
    async with bells.sweeping(house.database):
        await sweeper.sweep()
        assert not await running(house, lost)
    await sweeper.sweep()
    assert await running(house, lost)


async def test_a_session_that_goes_on_is_not_called_stuck_any_more(house: House, sweeper: Sweeper) -> None:
    session = await house.say("Hello.")
    await sessions.mark_stuck(house.database, session, "its task fails")
    await sweeper.sweep()
    assert (await house.client.session(session)).stuck is None


async def test_sweeping_goes_on_after_an_outage(house: House, lost: SessionId) -> None:
    async with house.working():
        await house.until(lost, lambda event: event.type == "turn.opened")
    assert (await house.client.session(lost)).number == 1


async def test_a_session_that_cannot_be_rung_does_not_keep_others_waiting(
    house: House, sweeper: Sweeper, lost: SessionId
) -> None:
    endless = SessionId("ses_" + "x" * 2000)  # longer than the engine takes an id of a workflow
    async with cut_off(house) as client:
        await client.start(str(house.project), "Hello.", session=endless)
    await age(house)
    await sweeper.sweep()
    assert await running(house, lost)


async def test_a_run_whose_task_keeps_failing_is_called_stuck(house: House) -> None:
    run = await described(house)
    assert stuck(run) is None
    run.raw_description.pending_workflow_task.attempt = 3
    assert stuck(run) == "its workflow task has failed 2 times; the worker's log says why"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("KeyError", "its activity holdfast.turns.close has failed 5 times: KeyError"),
        ("ProviderFailed", None),
        ("Unavailable", None),
    ],
)
async def test_an_activity_that_keeps_failing_is_a_reason_unless_something_is_away(
    house: House, kind: str, why: str | None
) -> None:
    run = await described(house)
    pending = run.raw_description.pending_activities.add(attempt=6)
    pending.activity_type.name = "holdfast.turns.close"
    pending.last_failure.application_failure_info.type = kind
    assert stuck(run) == why


async def test_a_stuck_session_without_work_is_let_go_and_not_woken(house: House, sweeper: Sweeper) -> None:
    session = await house.say("Hello.")
    await house.client.stop(session)
    await house.temporal.get_workflow_handle(workflow_id(session)).terminate()
    await sessions.mark_stuck(house.database, session, "its task fails")
    await sweeper.sweep()
    assert not await running(house, session) and (await house.client.session(session)).stuck is None


async def described(house: House) -> WorkflowExecutionDescription:
    """What the engine says of a run of which nothing has happened yet."""
    session = await house.say("Hello.")
    return await house.temporal.get_workflow_handle(workflow_id(session)).describe()


async def age(house: House) -> None:
    """Let all prompts have been accepted, all grants been given, and all sessions have moved last, two minutes ago."""
    async with house.database.transaction() as connection:
        await connection.execute("UPDATE prompt SET accepted_at = now() - interval '2 minutes'")
        await connection.execute("UPDATE session SET updated_at = now() - interval '2 minutes'")
        await connection.execute("UPDATE grant_ SET created_at = now() - interval '2 minutes'")
