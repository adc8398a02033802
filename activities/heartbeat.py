"""Heartbeats: a beat beside the work, so that a dead worker is noticed and a stop arrives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from temporalio import activity

BEAT: Final = 0.25  # seconds; the worker's throttle decides what is sent (temporal.md 6.3)


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """Beat while the block runs. A stop cancels the block: see `stopping`. Nobody hears a local activity."""
    if activity.info().is_local:
        yield
        return

    async def beat() -> None:
        while True:
            await asyncio.sleep(BEAT)  # first: most activities are over by then, and a beat costs the server 2 ms
            activity.heartbeat()

    beats = asyncio.create_task(beat())
    try:
        yield
    finally:
        beats.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beats
