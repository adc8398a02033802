"""Ends a command with all its processes."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from activities.shell.environment import CALL_VARIABLE
from activities.shell.lease import CallDirectory, Lease
from activities.shell.left_processes import left_by
from activities.shell.supervisor.command_supervisor import STOP_SIGNAL
from workflows.domain.ids import PartId

_SUPERVISOR_TIMEOUT: Final = 1.7  # seconds for the supervisor to end a command; everything is gone within 2 s
_RECORD_SECONDS: Final = 10.0  # then to record the end
_ROUNDS: Final = 20
_ROUND_SECONDS: Final = 0.1


def stop_command(directory: CallDirectory, call: str) -> Lease:
    """End a call's processes, background ones included, or prevent their start; blocks for up to 2 s, rarely longer.

    The lease has no supervisor if the command had not started.
    """
    directory.create()
    if directory.prevent_start():
        return Lease()
    lease = directory.lease() or Lease()
    if lease.supervisor and lease.supervisor.alive():
        lease.supervisor.signal(STOP_SIGNAL)
        lease.supervisor.signal(signal.SIGCONT)
        if not lease.supervisor.wait(_SUPERVISOR_TIMEOUT):
            kill_command(lease, call)
            lease.supervisor.wait(_RECORD_SECONDS)
            lease.supervisor.signal(signal.SIGKILL)
    kill_command(lease, call)
    return lease


def end_left_call(data: Path, call: PartId) -> None:
    """End what an ended call with files in `data` has left running, if anything; blocks as `stop_command`."""
    directory = CallDirectory(data / "calls" / call)
    if left_by(directory):
        stop_command(directory, call)


def kill_command(lease: Lease, call: str) -> None:
    """Kill the processes in rounds, until none is left or the rest hangs in the kernel."""
    for _ in range(_ROUNDS):
        found = remaining_processes(lease, call)
        if not found:
            return
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=_ROUND_SECONDS)


def remaining_processes(lease: Lease, call: str) -> list[psutil.Process]:
    """Running ones, by group, session, or the call id in the environment."""
    group = lease.shell.pid if lease.shell and not lease.shell.is_stale() else None
    return [process for process in psutil.process_iter() if _belongs(process, group, call)]


def _belongs(process: psutil.Process, group: int | None, call: str) -> bool:
    try:
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return False
        mine = group is not None and group in (os.getpgid(process.pid), os.getsid(process.pid))
        return mine or process.environ().get(CALL_VARIABLE) == call
    except (psutil.Error, OSError):  # gone, or another user's
        return False
