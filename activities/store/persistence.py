"""The one retry loop we own: a known fact is written again while the database is away for a moment."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from workflows.domain.errors import Unavailable

T = TypeVar("T")
_PAUSE: Final = 0.2  # seconds
_PATIENCE: Final = 30.0  # seconds; after that the activity's own retry goes on
_LOG: Final = logging.getLogger("holdfast.store")


async def persistently(write: Callable[[], Awaitable[T]]) -> T:
    """Try a transaction again while PostgreSQL cannot be reached, so that a known outcome stays known (design 6).

    The transaction must be one that finds its own earlier commit. Raises Unavailable in the end.
    """
    clock = asyncio.get_running_loop()
    end = clock.time() + _PATIENCE
    while True:
        try:
            return await write()
        except Unavailable as error:
            if clock.time() > end:
                raise
            _LOG.info("waiting for the database: %s", error)
        await asyncio.sleep(_PAUSE)
