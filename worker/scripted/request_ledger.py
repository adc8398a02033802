"""The model server's own record, one line per request."""

import asyncio
import hashlib
import json
import os
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from worker.scripted.script import ScriptPosition
from workflows.domain.value import Value


class StreamEnd(StrEnum):
    COMPLETE = "complete"
    CLIENT_LEFT = "client left"
    MALFORMED = "malformed"
    REFUSED = "refused"
    BROKEN = "broken"


class RequestRecord(Value):
    """`n` counts all requests, `attempt` those for the same answer; `messages` is a hash of the conversation. `step` is
    negative for an answer that is not in the script's list.

    `began`: the request's last byte was read; `ended`: the answer's last byte was written.
    """

    n: int
    attempt: int
    script: str
    step: int
    messages: str
    began: datetime
    ended: datetime
    end: StreamEnd
    chunks: int


class RequestLedger:
    """Keeps entries in memory, and in a file before `write` returns."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._written = asyncio.Event()
        self.entries: list[RequestRecord] = []

    def write(self, entry: RequestRecord) -> None:
        self.entries.append(entry)
        if self._path is not None:
            _append(self._path, entry.model_dump_json().encode() + b"\n")
        self._written.set()

    async def entry(self, number: int) -> RequestRecord:
        """Wait for the entry `number`, counted from 1."""
        while len(self.entries) < number:
            self._written.clear()
            await self._written.wait()
        return self.entries[number - 1]


class OpenRequest:
    def __init__(self, n: int, attempt: int, position: ScriptPosition, messages: Any, began: datetime) -> None:
        self.n = n
        self.attempt = attempt
        self.chunks = 0
        self._position = position
        self._messages = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()
        self._began = began

    def close(self, end: StreamEnd) -> RequestRecord:
        return RequestRecord(
            n=self.n,
            attempt=self.attempt,
            script=self._position.script,
            step=self._position.step,
            messages=self._messages,
            began=self._began,
            ended=datetime.now(UTC),
            end=end,
            chunks=self.chunks,
        )


def read_ledger(path: Path) -> list[RequestRecord]:
    """Oldest first; none before the first request."""
    return [RequestRecord.model_validate_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def _append(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
