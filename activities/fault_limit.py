"""Gives up work that keeps failing through a fault in our own code."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from temporalio.exceptions import ApplicationError

from activities.activity_fence import fence_of
from activities.error_boundary import storable_text
from activities.store import faults
from activities.store.commit_retry import retry_while_unavailable
from activities.store.database import Database
from workflows.domain.errors import NotFound, StaleFence, Unavailable
from workflows.domain.wire import Request

MAX_FAULTS: Final = 5  # of one step, call, load, close or result: each failed step may have paid for an answer
# Errors of a provider, of an unavailable store, or raised on purpose.
EXPECTED_ERRORS: Final = (ApplicationError, Unavailable, StaleFence, NotFound)
_LOG: Final = logging.getLogger("holdfast.activity")


class GivenUp(ApplicationError):
    """Work has failed for the last time, which by default ends its turn. `text` is stored: it names only the kind of
    the last error."""

    def __init__(self, text: str, error: Exception) -> None:
        super().__init__(f"{text}: {error}", type="GivenUp", non_retryable=True)
        self.text = storable_text(text)


@asynccontextmanager
async def count_faults(database: Database, request: Request, what: str, subject: str) -> AsyncIterator[None]:
    """Re-raises unexpected exceptions for Temporal to retry, and raises GivenUp after MAX_FAULTS. A dying worker and a
    stop do not count. `what` describes `subject` in the message."""
    try:
        yield
    except EXPECTED_ERRORS:
        raise
    except Exception as error:
        fence = fence_of(request)
        failures = await retry_while_unavailable(
            lambda: faults.count_failed_attempt(database, request.session, f"{what} {subject}", fence)
        )
        if failures < MAX_FAULTS:
            raise
        _LOG.exception("given up: %s %s", what, subject)
        text = f"Holdfast itself failed {failures} times at {what}, the last time: {type(error).__name__}"
        raise GivenUp(text, error) from error
