"""AsideWorkflow: side work of a session, such as asking for its title."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from temporalio import workflow
from temporalio.exceptions import ActivityError

from activities.model.ask_aside import AsideAsker
from workflows import policies
from workflows.domain import ids
from workflows.domain.generation import Purpose
from workflows.domain.state import Aside


@workflow.defn(name=ids.ASIDE_TYPE)
class AsideWorkflow:
    """Runs one activity with its retries, apart from the session's run: no turn waits for it or fails with it."""

    @workflow.run
    async def run(self, aside: Aside) -> None:
        is_summary = aside.request.purpose is Purpose.SUMMARY
        activity: Callable[..., Awaitable[None]] = AsideAsker.summarize if is_summary else AsideAsker.title
        doing = "sum up what was changed" if is_summary else "name the session"
        with suppress(ActivityError):
            await workflow.execute_activity_method(activity, aside.request, **policies.aside(aside.limits, doing))
