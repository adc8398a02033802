"""Reconcile, beside Temporal: a session that should move and does not is refreshed, restarted, and then suspended."""

from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionResponse,
    PauseWorkflowExecutionRequest,
)
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from activities.store import reconcile, sessions
from tests.activities.rig import ActivityRig, open_rig
from tests.harness import Harness, signals
from tests.worker.cli.conftest import shell
from worker.outbox import SignalSender, workflow_id
from worker.reconcile import Reconciler, is_busy, stuck_reason
from worker.stack.database_checks import check_repairs
from worker.stack.diagnosis import Level
from workflows.domain.events.asks import AskReopened
from workflows.domain.events.sessions import SessionRefreshed, SessionRestarted, SessionSuspended
from workflows.domain.ids import SessionId
from workflows.domain.suspension import SuspendReason
from workflows.domain.wake_signal import WakeKind


class Steps(Reconciler):
    """Takes no time into account, and records whose run it has looked at. Runs wait for nothing unless `busy`."""

    def __init__(self, harness: Harness) -> None:
        sender = SignalSender(harness.database, harness.temporal, harness.settings)
        super().__init__(harness.database, harness.temporal, sender, period=0)
        self.described: list[str] = []
        self.idle = True

    async def describe_run(self, workflow: str) -> DescribeWorkflowExecutionResponse | None:
        self.described.append(workflow)
        run = await super().describe_run(workflow)
        if run is not None and self.idle:
            run.ClearField("pending_workflow_task")
        return run


@pytest.fixture
def steps(harness: Harness) -> Steps:
    return Steps(harness)


@pytest.fixture
async def rig(harness: Harness, tmp_path: Path) -> ActivityRig:
    """A session whose activities run without an engine."""
    return await open_rig(harness.database, tmp_path)


async def repairs(harness: Harness, session: SessionId) -> list[str]:
    kinds = (SessionRefreshed, SessionRestarted, SessionSuspended)
    return [event.type for event in await harness.events(session) if isinstance(event, kinds)]


async def described(harness: Harness, session: SessionId) -> WorkflowExecutionDescription:
    return await harness.workflow(session).describe()


async def sent(rig: ActivityRig) -> None:
    """All signals were acknowledged, and lost."""
    await rig.database.rows(b"DELETE FROM outbox")


async def test_a_session_without_a_run_gets_one(harness: Harness, steps: Steps, rig: ActivityRig) -> None:
    await rig.prompt(model="scripted/model")
    await sent(rig)
    await steps.reconcile()
    run = await described(harness, rig.session)
    assert run.status is WorkflowExecutionStatus.RUNNING and await rig.signals() == []
    assert [signal.kind for signal in signals(await harness.history(rig.session))] == [WakeKind.REFRESH]
    assert [event for event in await rig.events() if isinstance(event, SessionRefreshed)] == [
        SessionRefreshed(run=None, refreshes=1)
    ]


async def test_a_run_that_is_about_to_do_something_is_left_alone(harness: Harness, steps: Steps) -> None:
    session = await harness.start_session("Hello.")
    steps.idle = False
    for _ in range(3):
        await steps.reconcile()
    assert steps.described == [workflow_id(session)] * 3 and await repairs(harness, session) == []


async def test_a_run_whose_queue_no_worker_serves_is_begun_anew_on_ours(harness: Harness, steps: Steps) -> None:
    ours = harness.settings
    harness.use_settings(ours.model_copy(update={"task_queue": f"{ours.task_queue}-before"}))
    session = await harness.start_session("Hello.")
    before = await described(harness, session)
    steps.idle = False
    await steps.reconcile()
    stuck = (await harness.client.sessions.get(session)).stuck
    level, message, _ = await check_repairs(harness.settings, harness.endpoints.postgres_url)
    shown = await shell(harness).run("status")
    after = await described(harness, session)
    assert "1 session cannot go on: `holdfast sessions --state stuck`" in shown.out
    assert stuck == f"its run waits for a worker of task queue '{ours.task_queue}-before', and there is none"
    assert (level, message) == (Level.WARNING, "sessions that cannot go on: 1")
    assert (before.task_queue, after.task_queue) == (f"{ours.task_queue}-before", ours.task_queue)
    assert await repairs(harness, session) == ["session.restarted"]
    assert [signal.kind for signal in signals(await harness.history(session))] == [WakeKind.REFRESH]


async def test_a_run_of_a_queue_that_another_worker_serves_is_left_to_it(harness: Harness, steps: Steps) -> None:
    ours = harness.settings
    other = ours.model_copy(update={"task_queue": f"{ours.task_queue}-other"})
    harness.use_settings(other)
    steps.idle = False
    async with harness.running_worker(with_sweeper=False, task_queue=other.task_queue):
        session = await harness.start_session("Hello.")
        await harness.until(session, lambda event: event.type == "turn.opened")
        run = await steps.describe_run(workflow_id(session))
        (due,) = await reconcile.due(harness.database, 0)
        assert run is not None and await steps.unserved_queue(run, due) is None


async def test_a_paused_run_is_called_so_and_left_alone(harness: Harness, steps: Steps) -> None:
    session = await harness.start_session("Hello.")
    request = PauseWorkflowExecutionRequest(namespace=harness.temporal.namespace, workflow_id=workflow_id(session))
    await harness.temporal.workflow_service.pause_workflow_execution(request)
    for _ in range(3):
        await steps.reconcile()
    assert (await harness.client.prompt(session, "More.")).delivered
    stuck = (await harness.client.sessions.get(session)).stuck
    assert stuck == f"its run is paused: `temporal workflow unpause -w {workflow_id(session)}`"
    assert steps.described == [workflow_id(session)] * 3 and await repairs(harness, session) == []


async def test_after_two_refreshes_the_watched_run_is_terminated_and_another_begins(
    harness: Harness, steps: Steps
) -> None:
    session = await harness.start_session("Hello.")
    first = await described(harness, session)
    for _ in range(2):
        await steps.reconcile()
    assert (await described(harness, session)).run_id == first.run_id
    await steps.reconcile()
    second = await described(harness, session)
    old = await harness.temporal.get_workflow_handle(workflow_id(session), run_id=first.run_id).describe()
    assert (old.status, second.status) == (WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.RUNNING)
    assert await repairs(harness, session) == ["session.refreshed", "session.refreshed", "session.restarted"]
    assert [signal.kind for signal in signals(await harness.history(session))] == [WakeKind.REFRESH]


async def test_after_five_restarts_a_person_is_asked_and_counting_begins_anew_when_they_resume_it(
    harness: Harness, steps: Steps
) -> None:
    session = await harness.start_session("Hello.")
    await sessions.mark_stuck(harness.database, session, "its task fails")
    for _ in range(30):
        await steps.reconcile()
    found = await repairs(harness, session)
    overview = await harness.client.sessions.get(session)
    assert (found.count("session.restarted"), found[-1]) == (5, "session.suspended")
    assert overview.suspension is not None
    assert (overview.suspension.reason, overview.suspension.now) == (SuspendReason.STALLED, "5")
    before = len(found)
    await steps.reconcile()
    assert len(await repairs(harness, session)) == before
    await harness.client.resume(session)
    await steps.reconcile()
    assert (await repairs(harness, session))[before:] == ["session.refreshed"]


async def test_movement_between_two_refreshes_counts_from_the_beginning(
    harness: Harness, steps: Steps, rig: ActivityRig
) -> None:
    await rig.open_turn()
    for _ in range(2):
        await sent(rig)
        await steps.reconcile()
    call = await rig.called("glob", pattern="*")
    await rig.run(call)
    for _ in range(2):
        await sent(rig)
        await steps.reconcile()
    assert [event.refreshes for event in await rig.events() if isinstance(event, SessionRefreshed)] == [1, 2, 1, 2]


async def test_a_forged_answer_is_open_again_and_its_session_waits(
    harness: Harness, steps: Steps, rig: ActivityRig
) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await rig.database.rows(b"UPDATE ask SET state = 'answered', reply = 'once', author = 'eve', settled_at = now()")
    for _ in range(4):
        await sent(rig)
        await steps.reconcile()
    assert await repairs(harness, rig.session) == [] and len(steps.described) == 1
    assert [type(event) for event in await rig.events()][-1] is AskReopened


async def test_a_call_waits_behind_one_that_asks_about_the_same_file_and_not_behind_others(
    harness: Harness, steps: Steps, rig: ActivityRig
) -> None:
    await rig.open_turn(permission={"edit": {"*": "allow", "*ask*": "ask"}})
    first, _ = await rig.answered(
        ("write", {"filePath": "ask.txt", "content": "x"}), ("write", {"filePath": "ask.txt", "content": "y"})
    )
    await rig.asked(first)
    for _ in range(3):
        await sent(rig)
        await steps.reconcile()
    assert await repairs(harness, rig.session) == []
    await rig.database.rows(b"UPDATE call SET waits_for = '{}' WHERE id <> %(first)s", first=first)
    await steps.reconcile()
    assert await repairs(harness, rig.session) == ["session.refreshed"]


async def test_sessions_that_rightly_wait_are_not_compared_with_their_runs(
    harness: Harness, steps: Steps, rig: ActivityRig
) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await rig.prompt("Later.")
    for _ in range(10):
        await sent(rig)
        await steps.reconcile()
    assert steps.described == [] and await repairs(harness, rig.session) == []


async def test_each_session_is_described_once_in_a_period(harness: Harness, steps: Steps) -> None:
    session = await harness.start_session("Hello.")
    await harness.database.rows(b"UPDATE session_head SET moved_at = now() - interval '1 hour'")
    await harness.database.rows(b"UPDATE work SET accepted_at = now() - interval '1 hour'")
    steps.period, steps.idle = 600, False
    for _ in range(3):
        await steps.reconcile()
    assert steps.described == [workflow_id(session)]


async def test_a_session_that_cannot_be_described_does_not_keep_others_waiting(harness: Harness, steps: Steps) -> None:
    endless = SessionId("ses_" + "x" * 2000)  # longer than the engine takes an id of a workflow
    for session in (endless, None):
        await harness.client.start(str(harness.project), "Hello.", session=session)
    await harness.database.rows(b"DELETE FROM outbox")
    await steps.reconcile()
    assert len(steps.described) == 2


async def test_a_stuck_session_is_marked_with_the_reason_and_a_mended_one_is_not(
    harness: Harness, steps: Steps
) -> None:
    session = await harness.start_session("Hello.")
    await sessions.mark_stuck(harness.database, session, "its task fails")
    steps.idle = False
    await steps.reconcile()
    assert (await harness.client.sessions.get(session)).stuck is None


async def test_a_run_whose_task_keeps_failing_is_called_stuck_and_not_busy(harness: Harness) -> None:
    run = (await described(harness, await harness.start_session("Hello."))).raw_description
    assert stuck_reason(run) is None and is_busy(run)
    run.pending_workflow_task.attempt = 3
    assert stuck_reason(run) == "its workflow task has failed 2 times; the worker's log says why" and not is_busy(run)
    run.pending_activities.add(attempt=1)
    assert is_busy(run)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("KeyError", "its activity holdfast.turns.close has failed 5 times: KeyError"),
        ("ProviderFailed", None),
        ("Unavailable", None),
        ("WorkerShutdown", None),
    ],
)
async def test_an_activity_that_keeps_failing_is_a_reason_unless_something_is_away(
    harness: Harness, kind: str, why: str | None
) -> None:
    run = (await described(harness, await harness.start_session("Hello."))).raw_description
    pending = run.pending_activities.add(attempt=6)
    pending.activity_type.name = "holdfast.turns.close"
    pending.last_failure.application_failure_info.type = kind
    assert stuck_reason(run) == why
