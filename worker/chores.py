"""Chores: what a worker does beside the work of sessions, as long as it works."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from activities.cancelling import ended


@asynccontextmanager
async def beside(*chores: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do these while the block runs, and cancel them at its end; each waits outages out by itself."""
    tasks = [asyncio.create_task(chore) for chore in chores]
    try:
        yield
    finally:
        await ended(*tasks)
