"""Failures of requests that no turn waits for: told to who has asked, for nothing else fails with them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from temporalio.exceptions import ApplicationError

from activities.error_boundary import storable_text
from activities.model.attempt import Attempt
from activities.store import aside_requests, titles
from workflows.domain.errors import UsageError
from workflows.domain.generation import Purpose

_MOST_REASON: Final = 2_000  # characters


@asynccontextmanager
async def record_failure(attempt: Attempt) -> AsyncIterator[None]:
    """Record what no other attempt mends, and end the request of a title: each load would repeat it."""
    try:
        yield
    except (UsageError, ApplicationError) as error:
        if isinstance(error, UsageError) or error.non_retryable:
            text = error.message if isinstance(error, ApplicationError) else str(error)
            reason = storable_text(attempt.shared.redactor.text(text))[:_MOST_REASON]
            async with attempt.finishing_journal() as journal:
                await journal.locked()
                aside_requests.fail(journal, attempt.generation, reason)
                if attempt.generation.purpose is Purpose.TITLE:
                    titles.settle(journal, attempt.generation.id, None)
        raise
