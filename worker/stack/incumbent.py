"""Who runs the stack: one supervisor at a time, which holds a lock from before its first instruction to its death.

Whoever asks holds the lock of those who start and stop the stack, so that no other supervisor is started meanwhile.
"""

import asyncio
from typing import Final

from worker.stack import locks, state
from worker.stack.layout import Layout
from worker.stack.state import StackState
from workflows.domain.errors import Unavailable

_POLL: Final = 0.02  # seconds between two looks


def runs(layout: Layout) -> bool:
    """Whether a supervisor runs, though it may not have spoken yet."""
    return _word(layout) is not None or not locks.free(layout.supervisor_lock)


async def incumbent(layout: Layout, seconds: float) -> StackState | None:
    """What the supervisor that runs says, or None without one; one that has just been started is given time to speak.

    Raises Unavailable when it stays silent for so long.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    while (said := _word(layout)) is None and runs(layout):
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(
                f"A supervisor of this stack was started and has said nothing for {seconds:.0f} s: see `holdfast logs "
                f"supervisor`. Whoever holds {str(layout.supervisor_lock)!r} (`fuser` tells) may be killed."
            )
        await asyncio.sleep(_POLL)
    return said


def _word(layout: Layout) -> StackState | None:
    said = state.read(layout.state)
    return said if said is not None and said.alive else None
