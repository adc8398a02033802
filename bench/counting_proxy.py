"""A proxy before PostgreSQL that counts the statements and round trips of each transaction."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

_SOCKET: Final = ".s.PGSQL.5432"
_CHUNK: Final = 65_536


@dataclass
class Transaction:
    """One transaction on the wire."""

    ended: datetime = field(default_factory=lambda: datetime.now(UTC))
    statements: list[str] = field(default_factory=list)
    round_trips: int = 0

    @property
    def complete(self) -> bool:
        """Whether it has ended: a lone statement is a transaction of its own."""
        return bool(self.statements) and (
            not self.statements[0].startswith("BEGIN") or self.statements[-1] in ("COMMIT", "ROLLBACK")
        )

    @property
    def passing(self) -> bool:
        """Whether it is for watchers only: a notification, or deltas without a session's lock."""
        notifies = any("pg_notify" in statement for statement in self.statements)
        return notifies or (self._names("delta") and not self._names("session"))

    def _names(self, table: str) -> bool:
        return any(f" {table} " in statement for statement in self.statements)


class Frontend:
    """A client's messages; a prepared statement is known by its text.

    `waits` counts its round trips: a simple query or a Sync waits for all answers.
    """

    def __init__(self) -> None:
        self.waits = 0
        self._waiting = b""
        self._greeted = False
        self._prepared: dict[bytes, str] = {}
        self._bound = ""

    def statements(self, sent: bytes) -> Iterator[str]:
        """The statements that `sent` executes."""
        self._waiting += sent
        while (message := self._message()) is not None:
            kind, payload = message
            match kind:
                case b"S":
                    self.waits += 1
                case b"Q":
                    self.waits += 1
                    yield _text(payload)
                case b"P":
                    name, _, rest = payload.partition(b"\0")
                    self._prepared[name] = _text(rest)
                case b"B":
                    self._bound = self._prepared[payload.split(b"\0", 2)[1]]
                case b"E":
                    yield self._bound

    def _message(self) -> tuple[bytes, bytes] | None:
        """The next complete message; the first has no kind."""
        skip = 1 if self._greeted else 0
        if len(self._waiting) < skip + 4:
            return None
        end = skip + int.from_bytes(self._waiting[skip : skip + 4], "big")
        if len(self._waiting) < end:
            return None
        message = self._waiting[:skip], self._waiting[skip + 4 : end]
        self._waiting, self._greeted = self._waiting[end:], True
        return message


def _text(zero_terminated: bytes) -> str:
    return zero_terminated.partition(b"\0")[0].decode()


class TransactionLog:
    def __init__(self) -> None:
        self.transactions: list[Transaction] = []

    def between(self, begin: datetime, end: datetime) -> list[Transaction]:
        return [each for each in self.transactions if begin <= each.ended < end]


class CountedConnection:
    """One connection; its bytes are counted, but not changed."""

    def __init__(self, tally: TransactionLog) -> None:
        self._tally = tally
        self._client = Frontend()
        self._open = Transaction()

    def on_sent(self, sent: bytes) -> None:
        """Count what the client sends; it costs no round trip unless the client waits."""
        before = self._client.waits
        self._open.statements += self._client.statements(sent)
        self._open.round_trips += self._client.waits - before

    def on_received(self, _: bytes) -> None:
        """Count the server's answer, which may end a transaction."""
        if self._open.complete and self._open.round_trips:
            self._open.ended = datetime.now(UTC)
            self._tally.transactions.append(self._open)
            self._open = Transaction()


@asynccontextmanager
async def counting_proxy(url: str, directory: Path) -> AsyncIterator[tuple[str, TransactionLog]]:
    """A database's address through a counting proxy with its socket in `directory`, and its log."""
    tally = TransactionLog()
    relays: set[asyncio.Task[None]] = set()

    def accept(reader: StreamReader, writer: StreamWriter) -> None:
        relays.add(asyncio.create_task(_relay(reader, writer, url, CountedConnection(tally))))

    async with await asyncio.start_unix_server(accept, directory / _SOCKET):
        try:
            yield _through(directory, url), tally
        finally:
            for relay in relays:
                relay.cancel()
            await asyncio.gather(*relays, return_exceptions=True)


def _through(directory: Path, url: str) -> str:
    """The database's address with the server's socket in this directory, without encryption."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{user}{at}{parts.path}?host={quote(str(directory), safe='')}"


async def _relay(reader: StreamReader, writer: StreamWriter, url: str, connection: CountedConnection) -> None:
    answers, server = await _connect(url)
    try:
        await asyncio.gather(_pump(reader, server, connection.on_sent), _pump(answers, writer, connection.on_received))
    except ConnectionError:
        pass  # a worker that was killed
    finally:
        for end in (server, writer):
            end.close()
            with suppress(ConnectionError):
                await end.wait_closed()


async def _connect(url: str) -> tuple[StreamReader, StreamWriter]:
    """A connection to a database's server, by its socket directory or name and port."""
    parts = urlsplit(url)
    if sockets := parse_qs(parts.query).get("host"):
        return await asyncio.open_unix_connection(str(Path(sockets[0]) / _SOCKET))
    return await asyncio.open_connection(parts.hostname, parts.port or 5432)


async def _pump(reader: StreamReader, writer: StreamWriter, on_data: Callable[[bytes], None]) -> None:
    while data := await reader.read(_CHUNK):
        on_data(data)
        writer.write(data)
        await writer.drain()
    writer.close()
