"""A worker's background tasks."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from activities.cancellation import cancel_and_wait
from workflows.domain.errors import Unavailable


@asynccontextmanager
async def run_in_background(*coroutines: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the coroutines during the block; cancel them at its end."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        yield
    finally:
        await cancel_and_wait(*tasks)


async def every(seconds: float, work: Callable[[], Awaitable[object]], log: logging.Logger) -> None:
    """Repeat `work` until cancelled, `seconds` apart; logs failures, outages as information."""
    while True:
        try:
            await work()
        except (Unavailable, OSError) as error:
            log.info("not done, next try in %g s: %s", seconds, error)
        except Exception:  # an edge: the loop must survive
            log.exception("not done, next try in %g s", seconds)
        await asyncio.sleep(seconds)
