"""Sends several statements to PostgreSQL as one message.

psycopg's cursors send once per statement, also in pipeline mode; a step has some thirty. So this uses `psycopg.pq`,
with psycopg's adapters.
"""

import asyncio
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from psycopg import AsyncConnection, OperationalError, abc, generators
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import TupleRow

Rows: TypeAlias = list[dict[str, Any]]
T = TypeVar("T")
RESPONSE_TIMEOUT: Final = 15.0  # seconds for the server to answer; more than its lock_timeout
_PLACEHOLDER: Final = re.compile(rb"%\((\w+)\)s")
_MAX_PREPARED: Final = 250  # statements per connection: the types of the values vary


@dataclass(frozen=True)
class Statement:
    """A query with psycopg's placeholders (`%(name)s`), and its values."""

    query: bytes
    values: Mapping[str, Any]


class PipelinedConnection(AsyncConnection[TupleRow]):
    """Sends many statements together, each prepared once. Breaks when the server does not answer within `limit`
    seconds."""

    def __init__(self, pgconn: PGconn, *given: Any, **named: Any) -> None:
        super().__init__(pgconn, *given, **named)
        self.limit = RESPONSE_TIMEOUT
        self.max_prepared = _MAX_PREPARED
        self._prepared_names: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._names_used = 0
        self._adapter: abc.Transformer | None = None

    async def wait(self, gen: PQGen[T], *given: Any, **named: Any) -> T:
        """Wait for the server with our limit, except for notifications (`timeout`), which may never come."""
        if named.get("timeout") is not None:
            return await super().wait(gen, *given, **named)
        loop = asyncio.get_running_loop()
        breaking = loop.call_later(self.limit, shut_socket, self)
        try:
            return await super().wait(gen, *given, **named)
        except OperationalError as error:
            if loop.time() < breaking.when():
                raise
            raise OperationalError(f"it has not answered for {self.limit:.0f} s") from error
        finally:
            breaking.cancel()

    @contextmanager
    def response_timeout(self, seconds: float | None) -> Iterator[None]:
        """Use another limit, if any, within the block."""
        before = self.limit
        self.limit = before if seconds is None else seconds
        try:
            yield
        finally:
            self.limit = before

    async def rows(self, query: bytes, **values: Any) -> Rows:
        (rows,) = await self.exchange([Statement(query, values)])
        return rows

    async def exchange(self, statements: Sequence[Statement]) -> list[Rows]:
        """The rows of each statement. Raises the first failure; later statements are not executed.

        Outside a transaction, the statements are one.
        """
        transformer = self._adapter = self._adapter or Transformer(self)
        round_trip = _Exchange(self.pgconn, self._messages(transformer, statements))
        try:
            await self.wait(round_trip.run())
        finally:
            self._prepared_names.update(round_trip.prepared)
        if round_trip.failure is not None:
            raise error_from_result(round_trip.failure, encoding=self.info.encoding)
        return [_rows(transformer, answer) for answer in round_trip.results]

    def _messages(self, transformer: abc.Transformer, statements: Sequence[Statement]) -> "list[_PreparedMessage]":
        messages = []
        newly_named: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        for each in statements:
            query, names = _to_positional(each.query) if each.values else (each.query, ())
            params = transformer.dump_sequence([each.values[name] for name in names], [PyFormat.AUTO] * len(names))
            key = query, transformer.types or ()
            name = self._prepared_names.get(key) or newly_named.get(key)
            prepares = key if not name else None
            if name is None:
                name = newly_named[key] = self._new_name()
            messages.append(_PreparedMessage(name, params, transformer.formats, prepares))
        return messages

    def _new_name(self) -> bytes:
        """Beyond the maximum, the empty name, whose statement lasts until its next use."""
        if self._names_used >= self.max_prepared:
            return b""
        self._names_used += 1
        return b"s%d" % self._names_used


def shut_socket(connection: AsyncConnection[Any]) -> None:
    """Break a connection below the driver, which notices immediately, also on a silent network."""
    with suppress(OSError, OperationalError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class _PreparedMessage:
    """`prepares`: the query and the types of its values, if new."""

    name: bytes
    params: Sequence[Buffer | None]
    formats: Sequence[Format] | None
    prepares: tuple[bytes, tuple[int, ...]] | None


class _Exchange:
    """Reads all results, even if the waiting task is cancelled."""

    def __init__(self, pgconn: PGconn, messages: Sequence[_PreparedMessage]) -> None:
        self.results: list[Sequence[PGresult]] = []
        self.failure: PGresult | None = None
        self.prepared: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._pgconn = pgconn
        self._messages = messages

    def run(self) -> PQGen[None]:
        """Raises OperationalError for a connection lost without a server error."""
        self._pgconn.enter_pipeline_mode()
        try:
            for message in self._messages:
                self._send(message)
            self._pgconn.pipeline_sync()
            yield from generators.send(self._pgconn)
            for message in self._messages:
                yield from self._receive(message)
            yield from generators.fetch_many(self._pgconn)  # the result of the Sync
        except OperationalError:
            if self.failure is None:
                raise
        finally:
            if self._pgconn.status != ConnStatus.BAD:
                self._pgconn.exit_pipeline_mode()

    def _send(self, message: _PreparedMessage) -> None:
        if message.prepares is not None:
            query, types = message.prepares
            self._pgconn.send_prepare(message.name, query, param_types=types)
        self._pgconn.send_query_prepared(message.name, message.params, param_formats=message.formats)

    def _receive(self, message: _PreparedMessage) -> PQGen[None]:
        if message.prepares is not None:
            (prepared, *_) = yield from self._results()
            if prepared.status == ExecStatus.COMMAND_OK and message.name:
                self.prepared[message.prepares] = message.name
        self.results.append((yield from self._results()))

    def _results(self) -> PQGen[Sequence[PGresult]]:
        """One, or one per row if the statement before the pipeline was streamed: libpq takes the first statement for
        its continuation.
        """
        results: Sequence[PGresult] = yield from generators.fetch_many(self._pgconn)
        if not results:
            raise OperationalError("the connection is closed")
        if results[-1].status == ExecStatus.FATAL_ERROR and self.failure is None:
            self.failure = results[-1]
        return results


@cache
def _to_positional(query: bytes) -> tuple[bytes, tuple[str, ...]]:
    """`$1`, `$2` … for names, and the names in order."""
    names = tuple(dict.fromkeys(name.decode() for name in _PLACEHOLDER.findall(query)))
    numbers = {name.encode(): b"$%d" % number for number, name in enumerate(names, start=1)}
    return _PLACEHOLDER.sub(lambda found: numbers[found[1]], query).replace(b"%%", b"%"), names


def _rows(transformer: abc.Transformer, results: Sequence[PGresult]) -> Rows:
    first = results[0]
    if not first.nfields:
        return []
    names = [(first.fname(column) or b"").decode() for column in range(first.nfields)]
    rows: Rows = []
    for result in results:
        transformer.set_pgresult(result)
        rows += transformer.load_rows(0, result.ntuples, lambda values: dict(zip(names, values, strict=True)))
    return rows
