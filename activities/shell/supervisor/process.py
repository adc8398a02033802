"""Process identity, descendants, and death with a parent. Standard library only."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def start_time(pid: int) -> str | None:
    """Boot id and clock ticks; None without /proc. With the pid, an identity."""
    stat, boot = _stat(pid), _text("/proc/sys/kernel/random/boot_id")
    return f"{boot.strip()}/{stat[19]}" if stat and boot else None


def descendants(ancestor: int) -> list[int]:
    """All processes below `ancestor`, parents first; empty without /proc."""
    children: dict[int, list[int]] = {}
    for pid in pids():
        if stat := _stat(pid):
            children.setdefault(int(stat[1]), []).append(pid)
    found = list(children.get(ancestor, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def command_line(pid: int) -> list[str]:
    """Its beginning; empty for a zombie, and for a process that is gone."""
    return _text(f"/proc/{pid}/cmdline").split("\0")[:-1]


def adopt_orphans() -> None:
    """Become a subreaper: the parent of orphaned descendants (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def send_signal(function: Callable[[int, int], None], target: int, number: int) -> None:
    """Send a signal; the process or group may be gone, or not ours."""
    try:
        function(target, number)
    except (ProcessLookupError, PermissionError):
        return


def pids() -> list[int]:
    """Of all processes; empty without /proc."""
    try:
        with os.scandir("/proc") as entries:
            return [int(entry.name) for entry in entries if entry.name.isdigit()]
    except FileNotFoundError:
        return []


def _stat(pid: int) -> list[str]:
    """The fields of `stat` from the third on (state, parent …): the name before them may hold any character."""
    return _text(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _text(path: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):  # `hidepid` keeps other users' from us
        return ""
    try:
        return os.read(file, 4_096).decode(errors="replace")
    except ProcessLookupError:
        return ""
    finally:
        os.close(file)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
