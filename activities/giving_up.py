"""Giving up: work that keeps failing by a fault of our own code comes to an end, and says so."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.edge import plain
from activities.store import faults
from activities.store.database import Database
from activities.store.persistence import persistently
from workflows.domain.errors import NotFound, StaleFence, Unavailable
from workflows.domain.wire import Request

_MOST: Final = 5  # failures of one step, call, load or close: each of a step may have paid for an answer
NO_FAULT: Final = (ApplicationError, Unavailable, StaleFence, NotFound)  # a provider's, an absent store's, or meant
_LOG: Final = logging.getLogger("holdfast.activity")


class GivenUp(ApplicationError):
    """Work has failed for the last time. Where the activity knows no better end for it, its turn ends with this.

    `text` is for the store, where no redactor goes over it: it names the kind of the last error only.
    """

    def __init__(self, text: str, error: Exception) -> None:
        super().__init__(f"{text}: {error}", type="GivenUp", non_retryable=True)
        self.text = plain(text)


@asynccontextmanager
async def counting_faults(database: Database, request: Request, what: str, subject: str) -> AsyncIterator[None]:
    """Count what the block raises by a fault of ours against `subject`; `what` it is, is said.

    It is raised again, for the engine to retry. Raises GivenUp once it has happened as often as one may pass by
    itself. A worker that dies, a stop, and a store or provider that is away do not count.
    """
    try:
        yield
    except NO_FAULT:
        raise
    except Exception as error:
        fence = request.fence(activity.info().attempt)
        failures = await persistently(lambda: faults.count(database, request.session, f"{what} {subject}", fence))
        if failures < _MOST:
            raise
        _LOG.exception("given up: %s %s", what, subject)
        text = f"Holdfast itself failed {failures} times at {what}, the last time: {type(error).__name__}"
        raise GivenUp(text, error) from error
