"""Processes by identity: pids are reused, and zombies answer to them."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from workflows.domain.value import Value

_POLL: Final = 0.02  # seconds; only children can be waited for portably


class ProcessRef(Value):
    """One process for ever: pid and time of birth (boot and clock tick on Linux)."""

    pid: int
    born: str

    @property
    def alive(self) -> bool:
        return born(self.pid) == self.born

    def kill(self, number: signal.Signals) -> None:
        """Ignores a process that is gone."""
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def current_process() -> ProcessRef:
    return ref(os.getpid())


def ref(pid: int) -> ProcessRef:
    """One that has just ended is never `alive`."""
    return ProcessRef(pid=pid, born=born(pid) or "gone")


def born(pid: int) -> str | None:
    """None if gone or a zombie."""
    if sys.platform != "linux":
        return _born_by_psutil(pid)
    state, ticks = _state_and_ticks(pid)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None if state in "ZX" else f"{boot}/{ticks}"


def zombies() -> frozenset[int]:
    """Our ended children; Linux alone gives us orphans to wait for."""
    me = os.getpid()
    try:
        children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
    except OSError:
        return frozenset()
    return frozenset(int(child) for child in children if _state_and_ticks(int(child))[0] == "Z")


def reap(pids: frozenset[int]) -> None:
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


async def wait_until_gone(process: ProcessRef, seconds: float) -> bool:
    """Wait for any process, at most `seconds`; returns whether it ended."""
    deadline = asyncio.get_running_loop().time() + seconds
    while process.alive:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(_POLL)
    return True


def working_directory(pid: int) -> Path | None:
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cwd").readlink()
        except OSError:
            return None
    import psutil  # Linux need not load it

    try:
        return Path(psutil.Process(pid).cwd())
    except psutil.Error:
        return None


def _state_and_ticks(pid: int) -> tuple[str, str]:
    """Linux's letter for its state (X: gone), and the clock tick of its start."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "X", ""
    return fields[0], fields[19]


def _born_by_psutil(pid: int) -> str | None:
    import psutil  # Linux need not load it

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
    except psutil.Error:
        return None
