"""One transaction in as few round trips as its decisions allow."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final, Protocol

from psycopg import AsyncConnection

from activities.failpoints import io_failpoint
from activities.store.pg_protocol import PipelinedConnection, Rows, Statement, shut_socket
from workflows.domain.errors import Unavailable

_COMMIT: Final = b"COMMIT"
_CLOSED: Final = "The transaction is over."
_LOOP_ROUNDS: Final = 2  # of the event loop: a task started in one submits in the next


class RowReader(Protocol):
    """A database, a transaction, a journal."""

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """A query's rows, by column."""


@dataclass(frozen=True)
class _PendingStatement(Statement):
    result: "asyncio.Future[Rows] | None" = None


class Statements:
    """A transaction's statements, in order, sent together as far as possible.

    A write waits for the next query or the commit, which raises its failure. Queries under one `asyncio.gather` share a
    round trip.
    """

    def __init__(self, connection: PipelinedConnection, begin: bytes) -> None:
        self._connection = connection
        self._batch = [_PendingStatement(begin, {})]
        self._last: list[_PendingStatement] = []
        self._sending = asyncio.Lock()
        self._closed = False

    def write(self, query: bytes, **values: Any) -> None:
        self._append(_PendingStatement(query, values))

    def write_last(self, query: bytes, **values: Any) -> None:
        """In the exchange of the commit: of what it locks for others, no client that has become silent keeps it."""
        self._require_open()
        self._last.append(_PendingStatement(query, values))

    def submit(self, query: bytes, **values: Any) -> "asyncio.Future[Rows]":
        """Add a query for `result`."""
        result: asyncio.Future[Rows] = asyncio.get_running_loop().create_future()
        self._append(_PendingStatement(query, values, result))
        return result

    async def result(self, pending: "asyncio.Future[Rows]") -> Rows:
        """Sends everything submitted before with it."""
        if not pending.done():
            await self._let_siblings_submit()
            async with self._sending:
                if not pending.done():
                    await self._exchange()
        return pending.result()

    async def rows(self, query: bytes, **values: Any) -> Rows:
        return await self.result(self.submit(query, **values))

    async def commit(self) -> None:
        async with self._sending:
            self._batch += self._last
            self.write(_COMMIT)
            await self._exchange()
            self._closed = True

    async def close(self) -> None:
        """Wait for the running exchange; later statements are refused."""
        async with self._sending:
            self._closed = True
            _fail(self._batch, Unavailable(_CLOSED))

    def _append(self, statement: _PendingStatement) -> None:
        self._require_open()
        self._batch.append(statement)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable(_CLOSED)

    async def _let_siblings_submit(self) -> None:
        """Also the tasks that they start."""
        before = -1
        while before != len(self._batch):
            before = len(self._batch)
            for _ in range(_LOOP_ROUNDS):
                await asyncio.sleep(0)

    async def _exchange(self) -> None:
        self._require_open()
        batch, self._batch = self._batch, []
        try:
            rows = await self._send(batch)
        except BaseException as error:
            self._closed = True
            _fail(batch, error)
            raise
        for statement, result in zip(batch, rows, strict=True):
            if statement.result is not None and not statement.result.done():
                statement.result.set_result(result)

    async def _send(self, batch: list[_PendingStatement]) -> list[Rows]:
        """A failpoint cuts the connection before or after its statement."""
        passed = 0

        async def cut_after_passed() -> None:
            await self._connection.exchange(batch[:passed])
            await cut_connection(self._connection)

        for _ in batch:
            async with io_failpoint("external.sql", cut_after_passed):
                passed += 1
        return await self._connection.exchange(batch)


def _fail(batch: list[_PendingStatement], error: BaseException) -> None:
    for statement in batch:
        if statement.result is not None and not statement.result.done():
            if isinstance(error, Exception):
                statement.result.set_exception(error)
                statement.result.exception()  # marks it as retrieved: its task may be gone
            else:
                statement.result.cancel()


async def cut_connection(connection: AsyncConnection[Any]) -> None:
    """Cut after the server executed what was sent so far. Raises the driver's error."""
    async with connection.pipeline() as pipeline:
        await pipeline.sync()
    shut_socket(connection)
    async with connection.pipeline():
        await connection.execute("SELECT")
