"""Linux calls that leave no process orphaned by a supervisor's own `kill -9`; no-ops elsewhere."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
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
