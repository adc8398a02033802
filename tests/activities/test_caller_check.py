"""Only the session's own workflow may call, identified by Temporal."""

from dataclasses import replace
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.caller_check import CallerCheckInterceptor
from activities.store.database import Database
from workflows.domain.ids import GenerationId, ScheduleId, SessionId, TurnId
from workflows.domain.wire import AsideRequest, FiringRequest, LoadRequest

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
