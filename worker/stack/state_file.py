"""The supervisor's report, in a file cheap to read."""

import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, ValidationError

from worker.release import Release
from worker.stack.processes import ProcessRef
from workflows.domain.value import Value as Strict

START_WORKER: Final = signal.SIGUSR1  # the database is ready for the worker
RESTART_WORKER: Final = signal.SIGUSR2  # drain the worker, start another


class TolerantValue(Strict):
    """Ignores fields that another version has added."""

    model_config = ConfigDict(extra="ignore")


class Endpoints(TolerantValue):
    """The servers' addresses; `ui_url` is None with an external Temporal. `pooler_url`: of a transaction pooler."""

    postgres_url: str
    pooler_url: str | None = None
    temporal_address: str
    ui_url: str | None = None


class StackPhase(StrEnum):
    """A killed supervisor's last phase stays."""

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    DOWN = "down"


class PartName(StrEnum):
    POSTGRES = "postgres"
    TEMPORAL = "temporal"
    WORKER = "worker"


class StackPart(TolerantValue):
    """A supervised process: how often it ended unasked, how last."""

    name: PartName
    process: ProcessRef | None = None
    serving: bool = False
    exits: int = 0
    trouble: str | None = None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.alive


class StackState(TolerantValue):
    supervisor: ProcessRef
    phase: StackPhase
    endpoints: Endpoints
    parts: tuple[StackPart, ...] = ()
    release: Release | None = None  # the supervisor's own

    @property
    def alive(self) -> bool:
        return self.supervisor.alive

    @property
    def serving(self) -> bool:
        return self.phase is StackPhase.SERVING and self.alive

    @property
    def works(self) -> bool:
        """It serves, and has a worker."""
        return self.serving and self.part(PartName.WORKER) is not None

    def part(self, name: PartName) -> StackPart | None:
        return next((part for part in self.parts if part.name is name), None)


class WorkerNote(TolerantValue):
    """A worker's own report: after an upgrade, its files no longer match it.

    `variables`: names it was started with. `temporary`, `managed`: directories; None from an earlier release.
    """

    process: ProcessRef
    release: Release
    variables: tuple[str, ...] = ()
    temporary: Path | None = None
    managed: Path | None = None
    settings: dict[str, str] = {}


_UNREADABLE: Final = (OSError, ValidationError)  # missing, or of another version


def read(path: Path) -> StackState | None:
    try:
        return StackState.model_validate_json(path.read_bytes())
    except _UNREADABLE:
        return None


def read_worker_note(path: Path) -> WorkerNote | None:
    try:
        note = WorkerNote.model_validate_json(path.read_bytes())
    except _UNREADABLE:
        return None
    return note if note.process.alive else None


def write(path: Path, state: TolerantValue) -> None:
    """Replaces the file; private: it may hold an external database's address."""
    write_private(path, state.model_dump_json().encode())


def write_private(path: Path, content: bytes) -> None:
    """Replaces a file that only its owner may read, atomically."""
    scratch = path.with_suffix(".new")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    scratch.replace(path)
