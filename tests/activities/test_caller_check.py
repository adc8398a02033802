"""Only the session's own workflow may call, identified by Temporal."""

from dataclasses import replace
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.caller_check import CallerCheckInterceptor
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from tests.activities.rig import ActivityRig
from workflows.domain import ids
from workflows.domain.events.sessions import SessionEnded, SessionSuspended
from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import GenerationId, ScheduleId, SessionId, TurnId
from workflows.domain.suspension import SuspendReason
from workflows.domain.wire import AsideRequest, CloseReason, CloseRequest, CloseResult, FiringRequest, LoadRequest

REQUEST = LoadRequest(session=SessionId("ses_1"), epoch=1, sequence=1, turn=TurnId("trn_1"))


class Counting(ActivityInboundInterceptor):
    """An activity that counts its executions."""

    def __init__(self) -> None:
        self.times = 0

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.times += 1


async def called(database: Database, workflow_id: str | None, workflow_type: str | None, *arguments: object) -> int:
    """Schedule an activity from such a workflow; how often it was executed."""
    environment, counting = ActivityEnvironment(), Counting()
    caller = {"workflow_id": workflow_id, "workflow_type": workflow_type}
    environment.info = replace(environment.info, **caller)  # type: ignore[arg-type]
    work = ExecuteActivityInput(fn=lambda: None, args=arguments or (REQUEST,), executor=None, headers={})
    await environment.run(CallerCheckInterceptor(database).intercept_activity(counting).execute_activity, work)
    return counting.times


async def test_the_sessions_own_workflow_is_served(database: Database) -> None:
    assert await called(database, "session/ses_1", "holdfast.session") == 1


async def test_side_work_is_served_for_its_own_generation_alone(database: Database) -> None:
    title = AsideRequest(session=SessionId("ses_1"), epoch=1, sequence=1, generation=GenerationId("gen_1"))
    assert await called(database, "aside/ses_1/gen_1", "holdfast.aside", title) == 1
    for workflow_id, workflow_type, request in (
        ("aside/ses_1/gen_2", "holdfast.aside", title),
        ("aside/ses_2/gen_1", "holdfast.aside", title),
        ("aside/ses_1/gen_1", "holdfast.session", title),
        ("session/ses_1", "holdfast.session", title),
        ("aside/ses_1/gen_1", "holdfast.aside", REQUEST),
    ):
        with pytest.raises(ApplicationError, match="is refused to workflow"):
            await called(database, workflow_id, workflow_type, request)


async def test_a_schedules_workflow_is_served_for_its_own_schedule_alone(database: Database) -> None:
    firing = FiringRequest(schedule=ScheduleId("sch_1"))
    assert await called(database, "schedule/sch_1-2026-11-25T06:00:00Z", "holdfast.scheduled", firing) == 1
    for workflow_id, workflow_type in (
        ("schedule/sch_2-2026-11-25T06:00:00Z", "holdfast.scheduled"),
        ("schedule/sch_1-2026-11-25T06:00:00Z", "holdfast.session"),
        (None, None),
    ):
        with pytest.raises(ApplicationError, match="is refused to workflow"):
            await called(database, workflow_id, workflow_type, firing)


@pytest.mark.parametrize(
    ("workflow_id", "workflow_type"),
    [
        ("session/ses_2", "holdfast.session"),
        ("session/ses_1", "another"),
        ("ses_1", "holdfast.session"),
        (None, None),
    ],
)
async def test_any_other_caller_is_named_and_refused_without_a_retry(
    database: Database, workflow_id: str | None, workflow_type: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ApplicationError, match=r"is refused to workflow .*: it is for 'session/ses_1' only") as refused:
        await called(database, workflow_id, workflow_type)
    assert (refused.value.type, refused.value.non_retryable) == ("ForeignCaller", True)
    assert repr(workflow_id) in caplog.text


@pytest.mark.parametrize("arguments", [("ses_1",), (REQUEST, REQUEST), (REQUEST, "ses_1")])
async def test_an_activity_that_takes_anything_but_one_request_is_not_carried_out(
    database: Database, arguments: tuple[object]
) -> None:
    with pytest.raises(ApplicationError, match="takes one request") as refused:
        await called(database, "session/ses_1", "holdfast.session", *arguments)
    assert (refused.value.type, refused.value.non_retryable) == ("ForeignCaller", True)


class Writing(ActivityInboundInterceptor):
    """An activity that appends an event."""

    def __init__(self, rig: ActivityRig) -> None:
        self.rig = rig

    async def execute_activity(self, input: ExecuteActivityInput) -> CloseResult:
        (request,) = input.args
        async with session_journal(self.rig.database, self.rig.session, WORKER, epoch=request.epoch) as journal:
            await journal.locked()
            journal.record(SessionEnded(reason="test"))
        return CloseResult()


async def written(rig: ActivityRig, seen: LogPosition, *heartbeat: object) -> CloseResult:
    """Have an activity write whose run has `seen` this; `heartbeat`: what its attempt before has reported."""
    environment = ActivityEnvironment()
    caller = {"workflow_id": ids.workflow_id(rig.session), "workflow_type": ids.WORKFLOW_TYPE}
    environment.info = replace(environment.info, **caller, heartbeat_details=heartbeat)  # type: ignore[arg-type]
    request = CloseRequest(session=rig.session, epoch=rig.epoch, sequence=1, seen=seen, reason=CloseReason.DONE)
    work = ExecuteActivityInput(fn=lambda: None, args=(request,), executor=None, headers={})
    chain = CallerCheckInterceptor(rig.database).intercept_activity(Writing(rig))
    result = await environment.run(chain.execute_activity, work)
    assert isinstance(result, CloseResult)
    return result


async def test_a_result_carries_the_end_of_the_log(rig: ActivityRig) -> None:
    await rig.load()
    seen = (await written(rig, LogPosition())).seen
    assert seen.seq == len(await rig.events()) == (await written(rig, seen, 0, *seen)).seen.seq - 1


@pytest.mark.parametrize("reported", [False, True])
async def test_a_session_whose_log_was_put_back_is_suspended_once_with_both_numbers(
    rig: ActivityRig, reported: bool
) -> None:
    await rig.load()
    lost = LogPosition(99, "00000000")
    for _ in range(2):
        with pytest.raises(ApplicationError, match="put back") as refused:
            await (written(rig, LogPosition(), 0, *lost) if reported else written(rig, lost))
        assert (refused.value.type, refused.value.non_retryable) == ("DatabaseBehind", True)
    (suspended,) = [event for event in await rig.events() if isinstance(event, SessionSuspended)]
    assert (suspended.reason, suspended.was, suspended.now) == (SuspendReason.BEHIND, "99", "1")


async def test_a_session_that_has_ended_is_not_suspended(rig: ActivityRig) -> None:
    await rig.load()
    await rig.end()
    with pytest.raises(ApplicationError, match="put back"):
        await written(rig, LogPosition(99, "00000000"))
    assert "session.suspended" not in await rig.types()
