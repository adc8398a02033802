"""Work of a turn that something interrupts: a stop, a load, or the next run."""

import asyncio
from collections.abc import Callable
from typing import Any

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

from workflows.domain.errors import ReloadDue


async def run_until(
    due: Callable[[], bool], work: asyncio.Future[Any], before_end: Callable[[], None] = lambda: None
) -> None:
    """Run `work` until it is done, `due` holds, or this run is cancelled; then cancel and await it."""
    try:
        await workflow.wait_condition(lambda: work.done() or due())
    except asyncio.CancelledError:  # no `finally`: an evicted run may not await
        before_end()
        await _cancel_and_wait(work)
        raise
    before_end()
    await _cancel_and_wait(work)


async def _cancel_and_wait(task: asyncio.Future[Any]) -> None:
    """Raises the task's error; a cancellation and a due load are none."""
    task.cancel()
    results = await asyncio.gather(task, return_exceptions=True)
    for problem in results[0] if isinstance(results[0], list) else results:
        if isinstance(problem, BaseException) and not (
            isinstance(problem, ReloadDue) or is_cancelled_exception(problem)
        ):
            raise problem
