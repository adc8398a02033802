"""ScheduledWorkflow: what a Temporal schedule starts at its moments."""

from temporalio import workflow
from temporalio.common import SearchAttributeKey

from activities.session.scheduled_prompts import ScheduleActivities
from workflows import policies
from workflows.domain import ids
from workflows.domain.wire import FiringRequest

_NOMINAL = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")


@workflow.defn(name=ids.SCHEDULED_TYPE)
class ScheduledWorkflow:
    """Has the schedule's row checked, which says what is due and whether it was done before."""

    @workflow.run
    async def run(self, request: FiringRequest) -> None:
        nominal = workflow.info().typed_search_attributes.get(_NOMINAL)
        await workflow.execute_activity_method(
            ScheduleActivities.fire,
            FiringRequest(schedule=request.schedule, nominal=nominal),
            **policies.schedule("prompt what is due"),
        )
