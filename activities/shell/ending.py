"""Ends a command with all of its processes: on a stop, and when its supervisor has died without doing so."""

import os
import signal
from contextlib import suppress
from typing import Final

import psutil

from activities.shell.environment import CALL_VARIABLE
from activities.shell.lease import CallDirectory, Lease
from activities.shell.supervisor.keeper import STOP

_KEEPER_SECONDS: Final = 1.7  # so long the supervisor may take to end a command; everything is gone within 2 s
_RECORD_SECONDS: Final = 10.0  # and so long after that to write down the end
_ROUNDS: Final = 20
_ROUND_SECONDS: Final = 0.1


def stop(directory: CallDirectory, call: str) -> Lease:
    """End what runs of a call, or make sure that nothing ever does; blocks for up to 2 s, rarely longer.

    Also ends what a finished command has left in the background. The lease that is returned has no keeper when
    nothing had begun; how it ended is in `directory.end()`, or nowhere.
    """
    directory.create()
    if directory.forbid():
        return Lease()
    lease = directory.lease() or Lease()
    if lease.keeper and lease.keeper.alive():
        lease.keeper.signal(STOP)
        lease.keeper.signal(signal.SIGCONT)
        if not lease.keeper.wait(_KEEPER_SECONDS):
            kill(lease, call)
            lease.keeper.wait(_RECORD_SECONDS)
            lease.keeper.signal(signal.SIGKILL)
    kill(lease, call)
    return lease


def kill(lease: Lease, call: str) -> None:
    """Kill what is left of a command, round by round, until nothing is (or hangs in the kernel)."""
    for _ in range(_ROUNDS):
        found = leftovers(lease, call)
        if not found:
            return
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=_ROUND_SECONDS)


def leftovers(lease: Lease, call: str) -> list[psutil.Process]:
    """What still runs of a command: its group, its session, and whatever carries the call's name."""
    group = lease.shell.pid if lease.shell and not lease.shell.foreign() else None
    return [process for process in psutil.process_iter() if _belongs(process, group, call)]


def _belongs(process: psutil.Process, group: int | None, call: str) -> bool:
    try:
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return False
        mine = group is not None and group in (os.getpgid(process.pid), os.getsid(process.pid))
        return mine or process.environ().get(CALL_VARIABLE) == call
    except (psutil.Error, OSError):  # gone meanwhile, or somebody else's
        return False
