"""The runs of a session, one after the other, and what they did."""

import json
import uuid

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowContinuedAsNewError, WorkflowHistory

from tests.house import House
from worker.bells import workflow_id
from workflows.domain.ids import SessionId

SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
MARKER = EventType.EVENT_TYPE_MARKER_RECORDED


async def chain(house: House, session: SessionId, runs: int = 1) -> list[WorkflowHistory]:
    """The histories of the newest chain: its first run, and what each was continued as; waits for so many `runs`."""
    newest = await house.temporal.get_workflow_handle(workflow_id(session)).describe()
    run = newest.raw_description.workflow_execution_info.first_run_id
    found: list[WorkflowHistory] = []
    while run:
        handle = house.temporal.get_workflow_handle(workflow_id(session), run_id=run)
        if len(found) < runs - 1:
            await continued(house, session, run)
        found.append(await handle.fetch_history())
        run = found[-1].events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return found


async def continued(house: House, session: SessionId, run: str) -> None:
    """Wait until a run has been continued as another."""
    try:
        await house.temporal.get_workflow_handle(workflow_id(session), run_id=run).result(follow_runs=False)
    except WorkflowContinuedAsNewError:
        return
    raise AssertionError(f"run {run} has ended the session")


async def reset(house: House, session: SessionId, activity: str) -> None:
    """Have an operator reset the session's run to the workflow task that has scheduled the first such activity."""
    history = await house.history(session)
    scheduled = [
        each.activity_task_scheduled_event_attributes for each in history.events if each.event_type == SCHEDULED
    ]
    (first, *_) = [each for each in scheduled if each.activity_type.name == activity]
    request = ResetWorkflowExecutionRequest(
        namespace=house.temporal.namespace,
        workflow_execution=WorkflowExecution(workflow_id=workflow_id(session)),
        reason="a bad deploy",
        workflow_task_finish_event_id=first.workflow_task_completed_event_id,
        request_id=uuid.uuid4().hex,
    )
    await house.temporal.workflow_service.reset_workflow_execution(request)


def activities(history: WorkflowHistory) -> list[str]:
    """The activities of a run, in the order of their scheduling."""
    events = [event for event in history.events if event.event_type == SCHEDULED]
    return [event.activity_task_scheduled_event_attributes.activity_type.name for event in events]


def run_within(history: WorkflowHistory) -> list[str]:
    """The calls that were run as a part of workflow tasks of a run, in the order in which they were through."""
    markers = [each.marker_recorded_event_attributes for each in history.events if each.event_type == MARKER]
    return [json.loads(marker.details["data"].payloads[0].data)["activity_id"] for marker in markers]
