"""Taking the stack down: the worker finishes what it can, then the servers stop cleanly."""

import signal
from collections.abc import Callable
from typing import Final

from worker.settings import Settings
from worker.stack import locks, processes, state
from worker.stack.incumbent import incumbent, runs
from worker.stack.layout import Layout
from worker.stack.state import Phase
from workflows.domain.errors import Unavailable

_PATIENCE: Final = 120.0  # seconds for the whole stack; the supervisor has shorter ones for each part


async def down(settings: Settings, say: Callable[[str], None]) -> None:
    """Stop the stack and wait for its end; nothing happens when nothing runs. Raises Unavailable when it hangs."""
    layout = Layout(home=settings.home)
    if not layout.home.exists():
        return
    async with locks.held(layout.up_lock, lambda: say("Another command starts or stops the stack: waiting for it.")):
        if runs(layout):
            say("Stopping the stack.")
            await _stop(layout)
        _note(layout)


async def _stop(layout: Layout) -> None:
    seen = await incumbent(layout, _PATIENCE)
    if seen is None:
        return  # it has ended by itself
    seen.supervisor.kill(signal.SIGTERM)
    if not await processes.gone(seen.supervisor, _PATIENCE):
        raise Unavailable(
            f"The supervisor (process {seen.supervisor.pid}) does not end. See `holdfast logs`; `kill -9` is safe."
        )


def _note(layout: Layout) -> None:
    """Note that somebody wanted the stack down, also where its supervisor had been killed."""
    seen = state.read(layout.state)
    if seen is not None and seen.phase is not Phase.DOWN:
        state.write(layout.state, seen.model_copy(update={"phase": Phase.DOWN}))
