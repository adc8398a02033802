"""The one retry loop we own: a known fact is written again while the database is away."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from activities.cancelling import ended
from workflows.domain.errors import Unavailable

T = TypeVar("T")
GRACE: Final = 10.0  # seconds that what is known may still be written in, once nobody waits for the attempt any more
_FIRST: Final = 0.2  # seconds until it is tried again; the pauses grow
_LONGEST: Final = 2.0
_LOG: Final = logging.getLogger("holdfast.store")


async def persistently(write: Callable[[], Awaitable[T]]) -> T:
    """Try a transaction again while PostgreSQL is away, for as long as the attempt lives: its cancellation ends it.

    So an answer that is paid for, and an outcome that is known, stay so (design 6). The transaction must be one that
    finds its own earlier commit.
    """
    pause, logged = _FIRST, ""
    while True:
        try:
            return await write()
        except Unavailable as error:
            if str(error) != logged:
                logged = str(error)
                _LOG.info("waiting for the database: %s", logged)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST)


async def to_its_end(work: Coroutine[Any, Any, None], grace: float | None = GRACE) -> None:
    """Do something to its end although we are cancelled meanwhile, within the grace if there is one: a known outcome
    is written."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await _last_tries(task, grace)
        raise


async def within_grace(work: Coroutine[Any, Any, None]) -> None:
    """The same for who has been cancelled already, and is not told again."""
    await _last_tries(asyncio.create_task(work), GRACE)


async def _last_tries(task: asyncio.Task[None], grace: float | None) -> None:
    done, _ = await asyncio.wait([task], timeout=grace)
    await ended(task)
    if done:
        task.result()
