"""What we ask of the Linux kernel so that a supervisor's own `kill -9` does no harm; elsewhere this does nothing."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

_SET_PDEATHSIG: Final = 1
_SET_CHILD_SUBREAPER: Final = 36
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind, instead of the machine's first process."""
    if _LIBC is not None:
        _LIBC.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def dies_with_me(number: signal.Signals) -> Callable[[], None]:
    """What a child does before it becomes its program: ask for `number` at the death of this process.

    Call it, and start the child, on the main thread: the kernel means the death of the thread.
    """
    parent = os.getpid()

    def ask() -> None:
        if _LIBC is None:
            return
        _LIBC.prctl(_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it died before the request
            os.kill(os.getpid(), number)

    return ask


def zombies() -> frozenset[int]:
    """Children of this process that have ended and were not waited for yet."""
    me = os.getpid()
    try:
        children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
    except OSError:
        return frozenset()
    return frozenset(int(child) for child in children if _is_zombie(child))


def reap(pids: frozenset[int]) -> None:
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _is_zombie(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
