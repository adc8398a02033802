"""The private directory of a call, as a worker sees it: who runs the command, and how it has ended."""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

import psutil

from activities.files.place import Place
from activities.shell.supervisor import layout
from activities.shell.supervisor.process import moment, send
from workflows.domain.value import Value

R = TypeVar("R", bound=Value)

_DEAD = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


class Process(Value):
    """A process, known by its pid and the moment of its start (None where the system does not tell that)."""

    pid: int
    start: str | None = None

    def alive(self) -> bool:
        """Whether this very process still runs: a zombie is dead, and so is one whose pid is somebody else's."""
        try:
            status = psutil.Process(self.pid).status()
        except psutil.NoSuchProcess:
            return False
        return status not in _DEAD and self.start in (None, moment(self.pid))

    def foreign(self) -> bool:
        """Whether the pid means another process by now, or is one of before the machine was started."""
        if self.start is None:
            return False
        if psutil.pid_exists(self.pid):
            return self.start != moment(self.pid)
        return self.start.partition("/")[0] != str(moment(os.getpid())).partition("/")[0]

    def signal(self, number: int) -> None:
        if self.alive():
            send(os.kill, self.pid, number)

    def wait(self, seconds: float) -> bool:
        """Block until the process has ended, at most so long; whether it has."""
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if self.alive():
                _wait(self.pid, seconds)
        return not self.alive()


class Lease(Value):
    """Who runs the command, and since when; without a keeper, it has been made sure that nobody ever does."""

    keeper: Process | None = None
    shell: Process | None = None
    begun: float | None = None


class Cause(StrEnum):
    """Why the supervisor ended a command."""

    TIMEOUT = "timeout"
    STOPPED = "stopped"
    ABANDONED = "abandoned"
    OVERFLOW = "overflow"


class End(Value):
    """How a command ended: exit code (negative: a signal); what ended it if not itself, and the limit it had passed
    (seconds or bytes); why a part of its output could not be kept."""

    status: int
    cause: Cause | None = None
    limit: float | None = None
    notice: str | None = None


@dataclass(frozen=True)
class CallDirectory:
    """`<data>/calls/<call id>`, mode 0700."""

    path: Path

    @classmethod
    def of(cls, place: Place, call: str) -> Self:
        return cls(place.data / "calls" / call)

    @property
    def spool(self) -> Path:
        return self.path / layout.SPOOL

    @property
    def bell(self) -> Path:
        return self.path / layout.BELL

    def create(self) -> None:
        """Make the directory, durably: a lease that a power cut loses would let a command run twice."""
        self.path.parent.parent.mkdir(parents=True, exist_ok=True)
        for path in (self.path.parent, self.path):
            with suppress(FileExistsError), _opened(path.parent) as parent:
                path.mkdir(mode=0o700)
                os.fsync(parent)
        self.renew()
        with suppress(FileExistsError):
            os.mkfifo(self.bell, 0o600)

    def renew(self) -> None:
        """Show the supervisor that a worker is there."""
        (self.path / layout.RENEWED).touch(mode=0o600)

    def forbid(self) -> bool:
        """Take the lease for nobody, so that the command never begins; False when somebody has it."""
        with _opened(self.path) as directory:
            return layout.create_durably(directory, layout.LEASE, Lease().model_dump())

    def lease(self) -> Lease | None:
        return _record(Lease, self.path / layout.LEASE)

    def end(self) -> End | None:
        return _record(End, self.path / layout.EXIT)


def _wait(pid: int, seconds: float) -> None:
    if not hasattr(os, "pidfd_open"):
        psutil.wait_procs([psutil.Process(pid)], timeout=seconds)
        return
    descriptor = os.pidfd_open(pid)  # ready also when the process is a zombie that nobody collects
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
