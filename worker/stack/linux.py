"""Linux calls that make a supervisor's own `kill -9` harmless; no-ops elsewhere."""

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
    """Adopt our children's orphans, in place of init."""
    if _LIBC is not None:
        _LIBC.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parent_death_signal(number: signal.Signals) -> Callable[[], None]:
    """A child's hook before exec: request signal `number` at this process's death.

    Call it and start the child on the main thread: the kernel means the thread's death.
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
    """Children that ended and were not waited for."""
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
