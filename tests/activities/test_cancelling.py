"""Ending tasks."""

import asyncio
from contextlib import suppress

from activities.cancelling import ended


async def deaf(hears: int) -> None:
    """Goes on at each cancellation before the last one that it takes."""
    for _ in range(hears - 1):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    await asyncio.Event().wait()


async def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    tasks = [asyncio.create_task(deaf(hears)) for hears in (1, 2)]
    await asyncio.sleep(0)  # they begin
    await ended(*tasks)
    assert all(task.cancelled() for task in tasks)


async def test_what_is_over_already_stays_as_it_was() -> None:
    task = asyncio.create_task(asyncio.sleep(0, "done"))
    await task
    await ended(task)
    await ended()
    assert task.result() == "done"
