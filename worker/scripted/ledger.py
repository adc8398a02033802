"""The model's own record of what it was asked: written by the server alone, one line per request."""

import asyncio
import hashlib
import json
import os
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from worker.scripted.script import Cue
from workflows.domain.value import Value


class End(StrEnum):
    """How a request ended, seen from the server."""

    COMPLETE = "complete"
    LEFT = "client left"
    MALFORMED = "malformed"
    REFUSED = "refused"
    BROKEN = "broken"


class Entry(Value):
    """One request: `n` counts all of them, `asked` those for the same answer; `messages` is a hash of them.

    It `began` when the last byte of the request had been read, and `ended` with the last byte of the answer.

    `delivered` says that the whole answer was handed to the network.
    """

    n: int
    asked: int
    script: str
    step: int
    messages: str
    began: datetime
    ended: datetime
    end: End
    chunks: int
    delivered: bool


class Ledger:
    """Keeps the entries in memory, and in a file when it has one; a line is on disk before `write` returns."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._written = asyncio.Event()
        self.entries: list[Entry] = []

    def write(self, entry: Entry) -> None:
        self.entries.append(entry)
        if self._path is not None:
            _append(self._path, entry.model_dump_json().encode() + b"\n")
        self._written.set()

    async def entry(self, number: int) -> Entry:
        """The entry with this number, counted from 1, as soon as there is one."""
        while len(self.entries) < number:
            self._written.clear()
            await self._written.wait()
        return self.entries[number - 1]


class Visit:
    """A request under way; `close` makes its entry."""

    def __init__(self, n: int, asked: int, cue: Cue, messages: Any, began: datetime) -> None:
        self.n = n
        self.asked = asked
        self.chunks = 0
        self._cue = cue
        self._messages = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()
        self._began = began

    def close(self, end: End) -> Entry:
        return Entry(
            n=self.n,
            asked=self.asked,
            script=self._cue.script,
            step=self._cue.step,
            messages=self._messages,
            began=self._began,
            ended=datetime.now(UTC),
            end=end,
            chunks=self.chunks,
            delivered=end is End.COMPLETE,
        )


def read_ledger(path: Path) -> list[Entry]:
    """The entries of a ledger file, oldest first; none when nothing was asked yet."""
    return [Entry.model_validate_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def _append(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
