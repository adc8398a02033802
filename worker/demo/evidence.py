"""What a demo is judged by: records of the world outside, beside the log that Holdfast itself keeps."""

from pathlib import Path
from typing import Literal

from worker.client import Totals, Verified
from worker.demo.kills import Kill, Recovery
from worker.scripted.ledger import Entry
from worker.scripted.script import Script
from workflows.domain.events import Record
from workflows.domain.value import Value


class Mark(Value):
    """A line of the effect ledger: the command `token` has started, or ended. `at` is in seconds since 1970."""

    what: Literal["start", "end"]
    token: str
    pid: int
    at: float


class Repository(Value):
    """The repository as git and its own tests see it; `changed` is git's short status."""

    changed: str
    module: str
    failed_before: bool
    passes_now: bool


class Evidence(Value):
    """All that was counted. `printed` is what `holdfast log --verify` said."""

    script: Script
    requests: tuple[Entry, ...]
    marks: tuple[Mark, ...]
    repository: Repository
    recoveries: tuple[Recovery, ...]
    outlived: tuple[Kill, ...] = ()  # kills that the command was seen to live through
    records: tuple[Record, ...]
    totals: Totals
    verified: Verified
    printed: str


def read_marks(path: Path) -> tuple[Mark, ...]:
    """The lines of an effect ledger, oldest first; none when no command has begun."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return tuple(Mark.model_validate_json(line) for line in lines)
