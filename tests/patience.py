"""Patience: waiting for what other processes bring about, on machines of any speed."""

import asyncio
import os
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 90.0  # seconds until a test that waits gives up: a net, by which nothing is decided
_LOOK_PERIOD: Final = 0.01


async def appears(seen: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for something that another process brings about. `seen` looks once: between two looks all may change."""
    async with asyncio.timeout(patience):
        while not seen():
            await asyncio.sleep(_LOOK_PERIOD)


def slowness() -> float:
    """By what a time that is promised on a machine with nothing else to do is longer just now, at least."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
