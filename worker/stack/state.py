"""What the supervisor says of the stack, in a file that everybody may read cheaply."""

import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, ValidationError

from worker.release import Release
from worker.stack.processes import ProcessRef
from workflows.domain.value import Value as Strict

START_WORKER: Final = signal.SIGUSR1  # to the supervisor, when the database is ready for the worker
RESTART_WORKER: Final = signal.SIGUSR2  # to the supervisor: let the worker finish what it can, and start another one


class Value(Strict):
    """What another version may have written: fields that a newer one has added are left out, not refused."""

    model_config = ConfigDict(extra="ignore")


class Endpoints(Value):
    """How the servers are reached; `ui_url` is None with an external Temporal."""

    postgres_url: str
    temporal_address: str
    ui_url: str | None = None


class Phase(StrEnum):
    """The life of a stack; a supervisor that was killed leaves what it said last."""

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    DOWN = "down"


class PartName(StrEnum):
    """What a stack is made of."""

    POSTGRES = "postgres"
    TEMPORAL = "temporal"
    WORKER = "worker"


class Part(Value):
    """One supervised process: how often it has ended by itself, and how it ended last."""

    name: PartName
    process: ProcessRef | None = None
    serving: bool = False
    exits: int = 0
    trouble: str | None = None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.alive


class StackState(Value):
    """The supervisor's word on itself and its parts."""

    supervisor: ProcessRef
    phase: Phase
    endpoints: Endpoints
    parts: tuple[Part, ...] = ()
    release: Release | None = None  # the supervisor's own

    @property
    def alive(self) -> bool:
        return self.supervisor.alive

    @property
    def serving(self) -> bool:
        return self.phase is Phase.SERVING and self.alive

    def part(self, name: PartName) -> Part | None:
        return next((part for part in self.parts if part.name is name), None)


class WorkerNote(Value):
    """A worker's word on itself: an upgrade replaces its files while it runs, so nobody else can tell.

    `variables` are the names of those that it was started with; `temporary` and `managed` the directories for temporary
    files and of the administrator's configuration, None in the note of an earlier release. `settings` are digests of
    what it goes by (`Settings.digests`).
    """

    process: ProcessRef
    release: Release
    variables: tuple[str, ...] = ()
    temporary: Path | None = None
    managed: Path | None = None
    settings: dict[str, str] = {}


_WRITTEN_BY_OTHERS: Final = (OSError, ValidationError)  # not there, or of another version of ours


def read(path: Path) -> StackState | None:
    """The last state written at `path`, or None."""
    try:
        return StackState.model_validate_json(path.read_bytes())
    except _WRITTEN_BY_OTHERS:
        return None


def noted(path: Path) -> WorkerNote | None:
    """The note of the worker that runs, or None."""
    try:
        note = WorkerNote.model_validate_json(path.read_bytes())
    except _WRITTEN_BY_OTHERS:
        return None
    return note if note.process.alive else None


def write(path: Path, state: Value) -> None:
    """Replace what is at `path` in one step; a state may hold the address of an external database: it is private."""
    scratch = path.with_suffix(".new")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(state.model_dump_json())
    scratch.replace(path)
