"""Waits for what other processes do, on machines of any speed."""

import asyncio
import os
from collections.abc import Callable
from typing import Final

WAIT_TIMEOUT: Final = 90.0  # seconds until a waiting test gives up: a safety net, which decides nothing
_POLL_INTERVAL: Final = 0.01


async def wait_until(seen: Callable[[], bool], timeout: float = WAIT_TIMEOUT) -> None:
    """Wait until `seen` returns true; other processes change between two calls."""
    async with asyncio.timeout(timeout):
        while not seen():
            await asyncio.sleep(_POLL_INTERVAL)


def slowness() -> float:
    """The least factor by which this machine is now slower than an idle one."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
