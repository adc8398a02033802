"""Waits for what other processes do, on machines of any speed."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Final

WAIT_TIMEOUT: Final = 90.0  # seconds until a waiting test gives up: a safety net, which decides nothing
_POLL_INTERVAL: Final = 0.01
_QUERY_INTERVAL: Final = 0.05  # seconds between two questions to a server


async def wait_until(seen: Callable[[], bool], timeout: float = WAIT_TIMEOUT) -> None:
    """Wait until `seen` returns true; other processes change between two calls."""
    async with asyncio.timeout(timeout):
        while not seen():
            await asyncio.sleep(_POLL_INTERVAL)


async def attempts(timeout: float = WAIT_TIMEOUT, interval: float = _QUERY_INTERVAL) -> AsyncIterator[None]:
    """Attempts to see something, until the caller has seen it and leaves the loop. Raises TimeoutError."""
    end = monotonic() + timeout
    while monotonic() < end:
        yield
        await asyncio.sleep(interval)
    raise TimeoutError


def slowness() -> float:
    """The least factor by which this machine is now slower than an idle one."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
