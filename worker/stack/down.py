"""Stops the stack: drains the worker, stops the servers cleanly, and ends what calls have left running."""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

from worker.settings import Settings
from worker.stack import processes, state_file
from worker.stack.layout import Layout
from worker.stack.running_supervisor import await_supervisor_state, is_running, start_stop_lock
from worker.stack.state_file import StackPhase
from workflows.domain.errors import Unavailable

_TIMEOUT: Final = 120.0  # seconds for the whole stack


async def down(settings: Settings, report: Callable[[str], None]) -> None:
    """Stop the stack, if it runs; waits for its end. Ends what calls have left running. Raises Unavailable."""
    layout = Layout(home=settings.home)
    if not layout.home.exists():
        return
    async with start_stop_lock(layout, report):
        if is_running(layout):
            report("Stopping the stack.")
            await _stop(layout)
        _record_down(layout)
    await _end_left(layout, report)


async def _stop(layout: Layout) -> None:
    seen = await await_supervisor_state(layout, _TIMEOUT)
    if seen is None:
        return  # it has ended by itself
    seen.supervisor.kill(signal.SIGTERM)
    if not await processes.wait_until_gone(seen.supervisor, _TIMEOUT):
        raise Unavailable(
            f"The supervisor (process {seen.supervisor.pid}) does not end. See `holdfast logs`; `kill -9` is safe."
        )


async def _end_left(layout: Layout, report: Callable[[str], None]) -> None:
    """A command of an open call runs on: its session takes it up again."""
    from activities.shell import left_processes, termination  # start-up time

    left = left_processes.find_left(layout.home)
    calls = {each.call for each in left}
    await asyncio.gather(*(asyncio.to_thread(termination.end_left_call, layout.home, call) for call in calls))
    for each in left:
        report(f"Ended process {each.pid}, which {each.session} had left running.")


def _record_down(layout: Layout) -> None:
    """Also if the supervisor was killed."""
    seen = state_file.read(layout.state)
    if seen is not None and seen.phase is not StackPhase.DOWN:
        state_file.write(layout.state, seen.model_copy(update={"phase": StackPhase.DOWN}))
