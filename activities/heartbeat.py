"""Heartbeats, so that Temporal notices a dead worker and can deliver a cancellation."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from temporalio import activity

HEARTBEAT_INTERVAL: Final = 0.25  # seconds; the worker's throttle decides what is sent (temporal.md 6.3)


@asynccontextmanager
async def heartbeats() -> AsyncIterator[None]:
    """A local activity has no use for them."""
    if activity.info().is_local:
        yield
        return

    async def beat() -> None:
        while True:
            # Sleep first: most activities end before it, and a heartbeat costs the server 2 ms.
            await asyncio.sleep(HEARTBEAT_INTERVAL)
            activity.heartbeat()

    heartbeat_task = asyncio.create_task(beat())
    try:
        yield
    finally:
        heartbeat_task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await heartbeat_task
