"""Waits for what other processes do, on machines of any speed."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Final

_USUAL = 0.4  # seconds for the work below on the machine where the limits of the tests were chosen


def _measure_slowness() -> float:
    """How much longer than usual this machine takes for a known piece of work: a process that loads what each of ours
    loads, and a file that reaches the disk."""
    began = monotonic()
    subprocess.run([sys.executable, "-c", "import pydantic, temporalio.client"], check=True)
    with tempfile.TemporaryFile() as file:
        for _ in range(20):
            file.write(b".")
            file.flush()
            os.fsync(file.fileno())
    return max(1.0, (monotonic() - began) / _USUAL)


# Measured once, by the run's first process; the others are told.
SLOWNESS: Final = float(os.environ.setdefault("HOLDFAST_TESTS_SLOWNESS", f"{_measure_slowness():.2f}"))
# Seconds without any progress until a waiting test gives up: a safety net, which decides nothing.
WAIT_TIMEOUT: Final = 90.0 * SLOWNESS
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
    """The least factor by which this machine is now slower than the usual one, idle."""
    return max(SLOWNESS, os.getloadavg()[0] / (os.cpu_count() or 1))
