"""The runs of a session, one after the other."""

from temporalio.client import WorkflowHistory

from tests.house import House
from worker.bells import workflow_id
from workflows.domain.ids import SessionId


async def chain(house: House, session: SessionId) -> list[WorkflowHistory]:
    """The histories of the newest chain: its first run, and what each was continued as."""
    newest = await house.temporal.get_workflow_handle(workflow_id(session)).describe()
    run = newest.raw_description.workflow_execution_info.first_run_id
    found = []
    while run:
        handle = house.temporal.get_workflow_handle(workflow_id(session), run_id=run)
        found.append(await handle.fetch_history())
        run = found[-1].events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return found
