"""A command's private directory, as a worker sees it: who holds the lease to run it, and how it has ended."""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from activities.files.workspace import Workspace
from activities.shell.supervisor import call_files
from activities.shell.supervisor.process import send_signal, start_time
from workflows.domain.ids import SessionId
from workflows.domain.value import Value, WireValue

R = TypeVar("R", bound=Value)


class Process(Value):
    """A process, by pid and start time (None where the system reports none)."""

    pid: int
    start: str | None = None

    def alive(self) -> bool:
        """Whether the process is alive; a zombie or a reused pid is not."""
        import psutil  # start-up time, here and below: only commands need it

        try:
            status = psutil.Process(self.pid).status()
        except psutil.NoSuchProcess:
            return False
        ended = status in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return not ended and self.start in (None, start_time(self.pid))

    def is_stale(self) -> bool:
        """Whether the pid was reused, or dates from before the last boot."""
        if self.start is None:
            return False
        if (now := start_time(self.pid)) is not None:
            return self.start != now
        return self.start.partition("/")[0] != str(start_time(os.getpid())).partition("/")[0]

    def signal(self, number: int) -> None:
        if self.alive():
            send_signal(os.kill, self.pid, number)

    def wait(self, seconds: float) -> bool:
        """Block for at most `seconds`; whether the process has ended."""
        import psutil  # as above

        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if self.alive():
                _wait(self.pid, seconds)
        return not self.alive()


class Lease(WireValue):
    """Who runs the command, since when, and for which session. Without a supervisor, it will never start."""

    supervisor: Process | None = None
    shell: Process | None = None
    started_at: float | None = None
    session: SessionId | None = None


class EndCause(StrEnum):
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    ABANDONED = "abandoned"
    OVERFLOW = "overflow"


class CommandEnd(WireValue):
    """`status`: exit code; negative: a signal. `cause`: why the supervisor ended the command, `limit` (seconds or
    bytes) what it exceeded, or the seconds until it was stopped. `write_error`: why a part of its output was lost.
    `left_running`: whether processes of it went on."""

    status: int
    cause: EndCause | None = None
    limit: float | None = None
    write_error: str | None = None
    left_running: bool = False


@dataclass(frozen=True)
class CallDirectory:
    """`<data>/calls/<call id>`, mode 0700."""

    path: Path

    @classmethod
    def of(cls, workspace: Workspace, call: str) -> Self:
        return cls(workspace.data / "calls" / call)

    @property
    def spool(self) -> Path:
        return self.path / call_files.SPOOL

    @property
    def exit_fifo(self) -> Path:
        return self.path / call_files.EXIT_FIFO

    def create(self) -> None:
        """Make the directory durably: a lease lost in a power cut would let a command run twice."""
        self.path.parent.parent.mkdir(parents=True, exist_ok=True)
        for path in (self.path.parent, self.path):
            with suppress(FileExistsError), _opened(path.parent) as parent:
                path.mkdir(mode=0o700)
                os.fsync(parent)
        self.renew()
        with suppress(FileExistsError):
            os.mkfifo(self.exit_fifo, 0o600)

    def renew(self) -> None:
        (self.path / call_files.RENEWED).touch(mode=0o600)

    def prevent_start(self) -> bool:
        """Take the lease, so that the command never starts; False if taken."""
        with _opened(self.path) as directory:
            return call_files.create_durably(directory, call_files.LEASE, Lease().model_dump())

    def lease(self) -> Lease | None:
        return _record(Lease, self.path / call_files.LEASE)

    def end(self) -> CommandEnd | None:
        return _record(CommandEnd, self.path / call_files.EXIT)


def _wait(pid: int, seconds: float) -> None:
    if not hasattr(os, "pidfd_open"):
        import psutil  # as above

        psutil.wait_procs([psutil.Process(pid)], timeout=seconds)
        return
    descriptor = os.pidfd_open(pid)  # a zombie counts as ended
    try:
        select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _record(model: type[R], path: Path) -> R | None:
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
