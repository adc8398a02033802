"""The edge of every activity: what leaves it as an error is short, without secrets, and readable everywhere."""

import logging
from typing import Any, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.failpoints import at_work, io_failpoint
from activities.redact import Redactor
from workflows.domain.errors import StaleFence

LONGEST: Final = 1000  # characters of an error that leave an activity; contents do not pass through the engine
_LOG: Final = logging.getLogger("holdfast.activity")


class Edge(Interceptor):
    """Makes words of whatever an activity raises.

    The engine would write an exception down with its causes and their stack traces, which quote contents and may be
    larger than it takes; and text with NUL or lone surrogates is refused by the database later on.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Boundary(next, self.redactor)


class _Boundary(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, redactor: Redactor) -> None:
        super().__init__(next)
        self.redactor = redactor

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        try:
            with at_work(activity.info().activity_type):
                async with io_failpoint("external.activity", _lost):
                    return await super().execute_activity(input)
        except ApplicationError as error:
            raise ApplicationError(
                plain(self.redactor.text(error.message)),
                type=error.type,
                non_retryable=error.non_retryable,
                next_retry_delay=error.next_retry_delay,
            ) from None
        except Exception as error:
            if activity.info().attempt == 1:
                _LOG.exception("%s failed", activity.info().activity_type)
            overtaken = isinstance(error, StaleFence)  # for good, whatever policy the caller has
            said = plain(self.redactor.text(str(error)))
            raise ApplicationError(said, type=type(error).__name__, non_retryable=overtaken) from None


async def _lost() -> None:
    raise ConnectionResetError("the worker and the engine have lost each other")


def plain(text: str) -> str:
    """Text that every store takes, cut to what may leave an activity."""
    return text[:LONGEST].replace("\0", "\ufffd").encode("utf-8", "replace").decode()
