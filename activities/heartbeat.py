"""Heartbeats, so that Temporal notices a dead worker and can deliver a cancellation."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from temporalio import activity

from activities.store.journal import KNOWN_LOG
from workflows.domain.hash_chain import LogPosition

HEARTBEAT_INTERVAL: Final = 0.25  # seconds; the worker's throttle decides what is sent (temporal.md 6.3)


@asynccontextmanager
async def heartbeats(progress: Callable[[], int] | None = None) -> AsyncIterator[None]:
    """A local activity has no use for them. `progress`: a number that the next attempt gets to know."""
    if activity.info().is_local:
        yield
        return

    async def beat() -> None:
        while True:
            # Sleep first: most activities end before it, and a heartbeat costs the server 2 ms.
            await asyncio.sleep(HEARTBEAT_INTERVAL)
            known = KNOWN_LOG.get()
            activity.heartbeat(progress() if progress is not None else 0, *(known.newest if known is not None else ()))

    heartbeat_task = asyncio.create_task(beat())
    try:
        yield
    finally:
        heartbeat_task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await heartbeat_task


def last_position() -> LogPosition:
    """The newest event of the log that the attempt before this one has reported to know of."""
    reported = activity.info().heartbeat_details
    return LogPosition(*reported[1:3]) if len(reported) == 3 else LogPosition()


def last_progress() -> int:
    """The number that the attempt before this one has reported last."""
    reported = activity.info().heartbeat_details
    return reported[0] if reported and isinstance(reported[0], int) else 0
