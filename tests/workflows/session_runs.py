"""The successive runs of a session, and what they did."""

import json
import uuid

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowContinuedAsNewError, WorkflowHistory

from tests.harness import Harness
from worker.outbox import workflow_id
from workflows.domain.ids import SessionId

SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
MARKER = EventType.EVENT_TYPE_MARKER_RECORDED


async def session_histories(harness: Harness, session: SessionId, runs: int = 1) -> list[WorkflowHistory]:
    """The histories of the newest run and its predecessors; waits until there are `runs`."""
    newest = await harness.workflow(session).describe()
    run = newest.raw_description.workflow_execution_info.first_run_id
    found: list[WorkflowHistory] = []
    while run:
        handle = harness.temporal.get_workflow_handle(workflow_id(session), run_id=run)
        if len(found) < runs - 1:
            await wait_until_continued(harness, session, run)
        found.append(await handle.fetch_history())
        run = found[-1].events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return found


async def wait_until_continued(harness: Harness, session: SessionId, run: str) -> None:
    """Wait until a run has continued as new."""
    try:
        await harness.temporal.get_workflow_handle(workflow_id(session), run_id=run).result(follow_runs=False)
    except WorkflowContinuedAsNewError:
        return
    raise AssertionError(f"run {run} has ended the session")


async def reset(harness: Harness, session: SessionId, activity: str) -> None:
    """Reset the session's run, as an operator does, to the workflow task that scheduled the first such activity."""
    history = await harness.history(session)
    scheduled = [
        each.activity_task_scheduled_event_attributes for each in history.events if each.event_type == SCHEDULED
    ]
    (first, *_) = [each for each in scheduled if each.activity_type.name == activity]
    request = ResetWorkflowExecutionRequest(
        namespace=harness.temporal.namespace,
        workflow_execution=WorkflowExecution(workflow_id=workflow_id(session)),
        reason="a bad deploy",
        workflow_task_finish_event_id=first.workflow_task_completed_event_id,
        request_id=uuid.uuid4().hex,
    )
    await harness.temporal.workflow_service.reset_workflow_execution(request)


def activities(history: WorkflowHistory) -> list[str]:
    """A run's activities in the order of their scheduling."""
    events = [event for event in history.events if event.event_type == SCHEDULED]
    return [event.activity_task_scheduled_event_attributes.activity_type.name for event in events]


def local_calls(history: WorkflowHistory) -> list[str]:
    """A run's local activities in the order of their completion."""
    markers = [each.marker_recorded_event_attributes for each in history.events if each.event_type == MARKER]
    return [json.loads(marker.details["data"].payloads[0].data)["activity_id"] for marker in markers]
