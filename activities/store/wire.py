"""The wire: several statements go to PostgreSQL as one message, and their answers are read as one.

psycopg's cursors look at the socket and send once for each statement, also in its pipeline mode. This is its layer
below them (`psycopg.pq`), with its adapters: a step says some thirty statements, and pays for a handful.
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
LIMIT: Final = 15.0  # seconds for the server to answer; a lock is waited for for 10
_PLACEHOLDER: Final = re.compile(rb"%\((\w+)\)s")
_MOST_PREPARED: Final = 250  # of a connection, whose server process keeps them; queries are few, types of values vary


@dataclass(frozen=True)
class Statement:
    """A query in psycopg's form, with `%(name)s` for each value, and the values."""

    query: bytes
    values: Mapping[str, Any]


class Connection(AsyncConnection[TupleRow]):
    """A connection that says many statements in one go; it knows what it has prepared, and how values are adapted.

    It breaks where the server has not answered within `limit` seconds: a network may fall silent without a word.
    """

    def __init__(self, pgconn: PGconn, *given: Any, **named: Any) -> None:
        super().__init__(pgconn, *given, **named)
        self.limit = LIMIT
        self._known_statements: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._names_given = 0
        self._adapter: abc.Transformer | None = None

    async def wait(self, gen: PQGen[T], *given: Any, **named: Any) -> T:
        """What psycopg waits by, for each answer, row and piece of a copy. Raises OperationalError after the limit.

        A wait with a `timeout` is one for notifications, which nobody owes us.
        """
        if named.get("timeout") is not None:
            return await super().wait(gen, *given, **named)
        loop = asyncio.get_running_loop()
        breaking = loop.call_later(self.limit, break_wire, self)
        try:
            return await super().wait(gen, *given, **named)
        except OperationalError as error:
            if loop.time() < breaking.when():
                raise
            raise OperationalError(f"it has not answered for {self.limit:.0f} s") from error
        finally:
            breaking.cancel()

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """Another limit within the block; None: the usual one."""
        before = self.limit
        self.limit = before if seconds is None else seconds
        try:
            yield
        finally:
            self.limit = before

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """The rows of one statement."""
        (rows,) = await self.exchange([Statement(query, values)])
        return rows

    async def exchange(self, said: Sequence[Statement]) -> list[Rows]:
        """The rows of each statement. What follows one that fails is not carried out, and the failure is raised.

        Outside of a transaction that was begun before, or is begun here, they are one.
        """
        adapting = self._adapter = self._adapter or Transformer(self)
        talk = _Talk(self.pgconn, self._messages(adapting, said))
        try:
            await self.wait(talk.whole())
        finally:
            self._known_statements.update(talk.prepared)
        if talk.failure is not None:
            raise error_from_result(talk.failure, encoding=self.info.encoding)
        return [_rows(adapting, answer) for answer in talk.answers]

    def _messages(self, adapting: abc.Transformer, said: Sequence[Statement]) -> "list[_Message]":
        """The statements as libpq takes them; the first of its kind is prepared on the way."""
        messages = []
        fresh: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        for each in said:
            query, names = _positional(each.query) if each.values else (each.query, ())
            params = adapting.dump_sequence([each.values[name] for name in names], [PyFormat.AUTO] * len(names))
            key = query, adapting.types or ()
            name = self._known_statements.get(key) or fresh.get(key)
            prepares = key if not name else None
            if name is None:
                name = fresh[key] = self._new_name()
            messages.append(_Message(name, params, adapting.formats, prepares))
        return messages

    def _new_name(self) -> bytes:
        """A name that no statement has had here; where there are too many none, which holds until the next one."""
        if self._names_given >= _MOST_PREPARED:
            return b""
        self._names_given += 1
        return b"s%d" % self._names_given


def break_wire(connection: AsyncConnection[Any]) -> None:
    """Break a connection below the driver, which finds out at once, also where the network is silent."""
    with suppress(OSError, OperationalError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class _Message:
    """A statement as libpq takes it; `prepares`: the query and the types of its values, when it is a new one."""

    name: bytes
    params: Sequence[Buffer | None]
    formats: Sequence[Format] | None
    prepares: tuple[bytes, tuple[int, ...]] | None


class _Talk:
    """One exchange: everything is said, then everything is heard, also when whoever waits is cancelled meanwhile."""

    def __init__(self, pgconn: PGconn, messages: Sequence[_Message]) -> None:
        self.answers: list[Sequence[PGresult]] = []
        self.failure: PGresult | None = None
        self.prepared: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._pgconn = pgconn
        self._messages = messages

    def whole(self) -> PQGen[None]:
        """What psycopg's waiting goes through. Raises OperationalError for a connection that is lost without a word."""
        self._pgconn.enter_pipeline_mode()
        try:
            for message in self._messages:
                self._say(message)
            self._pgconn.pipeline_sync()
            yield from generators.send(self._pgconn)
            for message in self._messages:
                yield from self._hear(message)
            yield from generators.fetch_many(self._pgconn)  # the answer to the Sync
        except OperationalError:
            if self.failure is None:
                raise
        finally:
            if self._pgconn.status != ConnStatus.BAD:
                self._pgconn.exit_pipeline_mode()

    def _say(self, message: _Message) -> None:
        if message.prepares is not None:
            query, types = message.prepares
            self._pgconn.send_prepare(message.name, query, param_types=types)
        self._pgconn.send_query_prepared(message.name, message.params, param_formats=message.formats)

    def _hear(self, message: _Message) -> PQGen[None]:
        if message.prepares is not None:
            (prepared, *_) = yield from self._answer()
            if prepared.status == ExecStatus.COMMAND_OK and message.name:
                self.prepared[message.prepares] = message.name
        self.answers.append((yield from self._answer()))

    def _answer(self) -> PQGen[Sequence[PGresult]]:
        """What a statement is answered: one result, or one for each row where the statement before was streamed, for
        libpq takes the first one of a pipeline for its continuation."""
        results: Sequence[PGresult] = yield from generators.fetch_many(self._pgconn)
        if not results:
            raise OperationalError("the connection is closed")
        if results[-1].status == ExecStatus.FATAL_ERROR and self.failure is None:
            self.failure = results[-1]
        return results


@cache
def _positional(query: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A query with `$1` for the first name, and so on, and the names in their order."""
    names = tuple(dict.fromkeys(name.decode() for name in _PLACEHOLDER.findall(query)))
    numbers = {name.encode(): b"$%d" % number for number, name in enumerate(names, start=1)}
    return _PLACEHOLDER.sub(lambda found: numbers[found[1]], query).replace(b"%%", b"%"), names


def _rows(adapting: abc.Transformer, results: Sequence[PGresult]) -> Rows:
    first = results[0]
    if not first.nfields:
        return []
    names = [(first.fname(column) or b"").decode() for column in range(first.nfields)]
    rows: Rows = []
    for result in results:
        adapting.set_pgresult(result)
        rows += adapting.load_rows(0, result.ntuples, lambda values: dict(zip(names, values, strict=True)))
    return rows
