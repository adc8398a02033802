"""Refuses activities that another workflow than the session's own has scheduled."""

import logging
from typing import Any, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from workflows.domain.ids import WORKFLOW_TYPE, workflow_id
from workflows.domain.wire import Request

_LOG: Final = logging.getLogger("holdfast.activity")


class CallerCheckInterceptor(Interceptor):
    """Refuses foreign callers before anything is read or written.

    Temporal vouches for the workflow that scheduled an activity; the request itself proves nothing.
    """

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _CallerCheckInbound(next)


class _CallerCheckInbound(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        match input.args:
            case [Request() as request]:
                refuse_foreign(info, request)
            case _:  # no session to check against
                raise _foreign_caller_error(
                    f"{info.activity_type} is refused: it takes one request of a session, and nothing else."
                )
        return await super().execute_activity(input)


def refuse_foreign(info: activity.Info, request: Request) -> None:
    """Raise a non-retryable ApplicationError unless the caller is the session's own workflow."""
    if (info.workflow_type, info.workflow_id) == (WORKFLOW_TYPE, workflow_id(request.session)):
        return
    caller = f"workflow {info.workflow_id!r} of type {info.workflow_type!r}"
    message = f"{info.activity_type} is refused to {caller}: session {request.session!r} has a workflow of its own."
    raise _foreign_caller_error(message)


def _foreign_caller_error(message: str) -> ApplicationError:
    _LOG.warning("%s", message)
    return ApplicationError(message, type="ForeignCaller", non_retryable=True)
