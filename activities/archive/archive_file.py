"""An archive: the rows of a session and its subagents in one compressed file, which can be verified by itself.

It is gzip over lines of JSON: a manifest, one line per row (`{"table": {"column": "text"}}`, in PostgreSQL's text
format), and a seal: the SHA-256 of all bytes before it.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import ValidationError

from workflows.domain.errors import DamagedArchive, UsageError
from workflows.domain.ids import SessionId
from workflows.domain.value import Value

SUFFIX: Final = ".jsonl.gz"
_LEVEL: Final = 6
_SEAL: Final = b'{"seal":"'
_GARBAGE: Final = (OSError, EOFError, ValueError)  # not gzip, cut off, not JSON

Row: TypeAlias = Mapping[str, str | None]


class LogEnd(Value):
    """A session's last event: its number, and its hash in hex."""

    session: SessionId
    seq: int
    head: str


class Manifest(Value):
    """A session, then those below it. `holdfast`: the version that wrote the archive."""

    format: Literal["holdfast-archive/1"] = "holdfast-archive/1"
    holdfast: str
    at: datetime
    sessions: tuple[LogEnd, ...]

    @property
    def session(self) -> SessionId:
        return self.sessions[0].session


class ArchiveWriter:
    """Writes and hashes lines."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def manifest(self, manifest: Manifest) -> None:
        self._line(manifest.model_dump(mode="json"))

    def rows(self, table: str, rows: Iterable[Row]) -> None:
        for row in rows:
            self._line({table: row})

    def seal(self) -> None:
        self._stream.write(_SEAL + self._digest.hexdigest().encode() + b'"}\n')

    def _line(self, value: Any) -> None:
        line = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        self._digest.update(line)
        self._stream.write(line)


def draft_of(path: Path) -> Path:
    """What an archive is until it is whole. A killed process leaves it."""
    return path.with_suffix(".new")


@contextmanager
def open_writer(path: Path) -> Iterator[ArchiveWriter]:
    """Write an archive atomically and durably, replacing an older one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = draft_of(path)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=_LEVEL) as stream:
            writer = ArchiveWriter(stream)
            yield writer
            writer.seal()
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_manifest(path: Path) -> Manifest:
    """Unverified. Raises UsageError, DamagedArchive."""
    try:
        with gzip.open(path) as stream:
            return Manifest.model_validate_json(stream.readline())
    except FileNotFoundError:
        raise UsageError(f"There is no file {str(path)!r}.") from None
    except (*_GARBAGE, ValidationError):
        raise DamagedArchive(path, "it does not begin like one") from None


def read_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """The tables and rows, in order. Raises DamagedArchive, at the latest after the last row."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path) as stream:
            digest.update(stream.readline())
            for line in stream:
                if line.startswith(_SEAL):
                    if line.strip() != _SEAL + digest.hexdigest().encode() + b'"}' or stream.read(1):
                        raise DamagedArchive(path, "its seal does not fit what stands before it")
                    return
                digest.update(line)
                ((table, row),) = json.loads(line).items()
                yield table, row
    except _GARBAGE as error:
        raise DamagedArchive(path, f"{error}".rstrip(".") or "it cannot be read") from None
    raise DamagedArchive(path, "its end is missing")
