"""Retries the write of a known fact while the database is away."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from activities.cancellation import cancel_and_wait
from workflows.domain.errors import Unavailable

T = TypeVar("T")
GRACE: Final = 10.0  # seconds to write what is known after a cancellation
_FIRST_PAUSE: Final = 0.2  # seconds; doubles each time
_LONGEST_PAUSE: Final = 2.0
_LOG: Final = logging.getLogger("holdfast.store")


async def retry_while_unavailable(write: Callable[[], Awaitable[T]]) -> T:
    """Retry a transaction, which recognises its own earlier commit, until cancelled: no paid answer or known outcome is
    lost."""
    pause, logged = _FIRST_PAUSE, ""
    while True:
        try:
            return await write()
        except Unavailable as error:
            if str(error) != logged:
                logged = str(error)
                _LOG.info("waiting for the database: %s", logged)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


async def finish_despite_cancel(work: Coroutine[Any, Any, None], grace: float | None = GRACE) -> None:
    """Finish work despite cancellation, within the grace, if any."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await _await_within(task, grace)
        raise


async def finish_within_grace(work: Coroutine[Any, Any, None]) -> None:
    """Finish work after a cancellation, within the grace: no second cancellation comes."""
    await _await_within(asyncio.create_task(work), GRACE)


async def _await_within(task: asyncio.Task[None], grace: float | None) -> None:
    done, _ = await asyncio.wait([task], timeout=grace)
    await cancel_and_wait(task)
    if done:
        task.result()
