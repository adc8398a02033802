"""Finds the stack's running supervisor, and waits for its report."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from worker.stack import locks, state_file
from worker.stack.layout import Layout
from worker.stack.state_file import StackState
from workflows.domain.errors import Unavailable

_POLL: Final = 0.02  # seconds


def start_stop_lock(layout: Layout, report: Callable[[str], None]) -> AbstractAsyncContextManager[int]:
    """Held to start or stop the stack: no supervisor comes or goes meanwhile."""
    return locks.hold(layout.up_lock, lambda: report("Another command starts or stops the stack: waiting for it."))


def is_running(layout: Layout) -> bool:
    """Whether a supervisor runs, even before it reports."""
    return _live_state(layout) is not None or not locks.is_free(layout.supervisor_lock)


async def await_supervisor_state(layout: Layout, seconds: float) -> StackState | None:
    """The running supervisor's state, if any. Raises Unavailable if it does not report within `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    while (current := _live_state(layout)) is None and is_running(layout):
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(
                f"A supervisor of this stack was started and has not reported for {seconds:.0f} s: see `holdfast logs "
                f"supervisor`. The process that holds {str(layout.supervisor_lock)!r} (`fuser` shows it) may be killed."
            )
        await asyncio.sleep(_POLL)
    return current


def _live_state(layout: Layout) -> StackState | None:
    current = state_file.read(layout.state)
    return current if current is not None and current.alive else None
