"""The boundary of every activity: errors leave it short, without secrets, and storable."""

import logging
from typing import Any, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.failpoints import during_activity, io_failpoint
from activities.redact import Redactor
from workflows.domain.errors import StaleFence

MAX_ERROR_CHARS: Final = 1000  # of an error that leaves an activity; contents do not pass through the engine
_LOG: Final = logging.getLogger("holdfast.activity")


class ErrorBoundaryInterceptor(Interceptor):
    """Shortens every exception: Temporal would record causes and stack traces, which quote contents and may exceed its
    size limit; PostgreSQL refuses NULs and lone surrogates."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _ErrorBoundaryInbound(next, self.redactor)


class _ErrorBoundaryInbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, redactor: Redactor) -> None:
        super().__init__(next)
        self.redactor = redactor

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        try:
            with during_activity(activity.info().activity_type):
                async with io_failpoint("external.activity", _lose_connection):
                    return await super().execute_activity(input)
        except ApplicationError as error:
            raise ApplicationError(
                storable_text(self.redactor.text(error.message)),
                type=error.type,
                non_retryable=error.non_retryable,
                next_retry_delay=error.next_retry_delay,
            ) from None
        except Exception as error:
            if activity.info().attempt == 1:
                _LOG.exception("%s failed", activity.info().activity_type)
            is_stale = isinstance(error, StaleFence)  # never retried, under any policy
            kind = StaleFence if is_stale else type(error)
            message = storable_text(self.redactor.text(str(error)))
            raise ApplicationError(message, type=kind.__name__, non_retryable=is_stale) from None


async def _lose_connection() -> None:
    raise ConnectionResetError("the worker and the engine have lost each other")


def storable_text(text: str) -> str:
    """Text that PostgreSQL and Temporal accept, cut to MAX_ERROR_CHARS."""
    return text[:MAX_ERROR_CHARS].replace("\0", "\ufffd").encode("utf-8", "replace").decode()
