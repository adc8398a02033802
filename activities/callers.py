"""Callers: an activity works for its session's own workflow, and for nobody else who can reach Temporal."""

import logging
from typing import Any, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from workflows.domain.ids import WORKFLOW, workflow_id
from workflows.domain.wire import Request

_LOG: Final = logging.getLogger("holdfast.activity")


class Callers(Interceptor):
    """Refuses what another workflow asks for, before anything is read or written for it.

    Temporal names the workflow that has scheduled an activity; the request can say what it likes.
    """

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Checked(next)


class _Checked(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        match input.args:
            case [Request() as request]:
                refuse_foreign(info, request)
            case _:  # nothing says for which session it would work
                raise _refused(f"{info.activity_type} is refused: it takes one request of a session, and nothing else.")
        return await super().execute_activity(input)


def refuse_foreign(info: activity.Info, request: Request) -> None:
    """Raise ApplicationError, which no policy retries, unless the caller is the workflow of the request's session."""
    if (info.workflow_type, info.workflow_id) == (WORKFLOW, workflow_id(request.session)):
        return
    caller = f"workflow {info.workflow_id!r} of type {info.workflow_type!r}"
    said = f"{info.activity_type} is refused to {caller}: session {request.session!r} has a workflow of its own."
    raise _refused(said)


def _refused(said: str) -> ApplicationError:
    _LOG.warning("%s", said)
    return ApplicationError(said, type="ForeignCaller", non_retryable=True)
