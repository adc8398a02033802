"""Stops the stack: drains the worker, then stops the servers cleanly."""

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
    """Stop the stack, if it runs; waits for its end. Raises Unavailable if it hangs."""
    layout = Layout(home=settings.home)
    if not layout.home.exists():
        return
    async with start_stop_lock(layout, report):
        if is_running(layout):
            report("Stopping the stack.")
            await _stop(layout)
        _record_down(layout)


async def _stop(layout: Layout) -> None:
    seen = await await_supervisor_state(layout, _TIMEOUT)
    if seen is None:
        return  # it has ended by itself
    seen.supervisor.kill(signal.SIGTERM)
    if not await processes.wait_until_gone(seen.supervisor, _TIMEOUT):
        raise Unavailable(
            f"The supervisor (process {seen.supervisor.pid}) does not end. See `holdfast logs`; `kill -9` is safe."
        )


def _record_down(layout: Layout) -> None:
    """Also if the supervisor was killed."""
    seen = state_file.read(layout.state)
    if seen is not None and seen.phase is not StackPhase.DOWN:
        state_file.write(layout.state, seen.model_copy(update={"phase": StackPhase.DOWN}))
