"""Ending our own tasks."""

import asyncio
from typing import Any, Final

_RETRY_INTERVAL: Final = 2.0  # seconds


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks until they are done; their exceptions are not raised."""
    # Once may not be enough: `asyncio.wait_for` of Python 3.11, which a pool uses to wait for its connections, loses a
    # cancellation that coincides with the awaited result.
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_RETRY_INTERVAL)
