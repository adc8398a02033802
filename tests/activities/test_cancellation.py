"""Ending tasks."""

import asyncio
from contextlib import suppress

from activities.cancellation import cancel_and_wait


async def deaf(hears: int) -> None:
    """Ignores all cancellations before the last one."""
    for _ in range(hears - 1):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    await asyncio.Event().wait()


async def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    tasks = [asyncio.create_task(deaf(hears)) for hears in (1, 2)]
    await asyncio.sleep(0)  # they begin
    await cancel_and_wait(*tasks)
    assert all(task.cancelled() for task in tasks)


async def test_an_ended_task_stays_as_it_was() -> None:
    task = asyncio.create_task(asyncio.sleep(0, "done"))
    await task
    await cancel_and_wait(task)
    await cancel_and_wait()
    assert task.result() == "done"
