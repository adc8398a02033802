"""AsideWorkflow: side work of a session, such as asking for its title."""

from contextlib import suppress

from temporalio import workflow
from temporalio.exceptions import ActivityError

from activities.model.titler import Titler
from workflows import policies
from workflows.domain import ids
from workflows.domain.state import Aside


@workflow.defn(name=ids.ASIDE_TYPE)
class AsideWorkflow:
    """One activity with its retries, beside the session's run: it delays no turn, and fails quietly."""

    @workflow.run
    async def run(self, aside: Aside) -> None:
        with suppress(ActivityError):
            await workflow.execute_activity_method(
                Titler.title, aside.request, **policies.aside(aside.limits, "name the session")
            )
