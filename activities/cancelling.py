"""Ending tasks of one's own."""

import asyncio
from typing import Any, Final

_AGAIN: Final = 2.0  # seconds


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks until they are over; what they have raised stays theirs.

    Once may not be enough: `asyncio.wait_for` of Python 3.11, by which a pool waits for its connections, loses a
    cancellation that comes together with what is waited for.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN)
