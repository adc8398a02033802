"""The connection pool, our JSON in and out, and what an unreachable database is called."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow, dict_row
from psycopg.types.json import set_json_dumps, set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from activities.cancelling import ended
from activities.failpoints import io_failpoint
from activities.store.connecting import PATIENCE, connect, network, parameters
from activities.store.cut import cut
from activities.store.notifications import CHANNEL, Notifications
from activities.store.outages import reaching
from activities.store.queries import Queries
from activities.store.recent import Recent
from activities.store.snapshots import Snapshots
from activities.store.statements import Statements
from activities.store.wire import Connection, Rows
from workflows.domain.errors import Unavailable
from workflows.domain.ids import PartId, SessionId, SnapshotId

if TYPE_CHECKING:
    from workflows.domain.events import Record

_QUERIES: Final = Queries("notifications")
_RENEWED: Final = 1.0  # seconds for which all connections of the pool count as new


def dumps(value: Any) -> str:
    """JSON in ASCII: NUL and lone surrogates stay escapes, which a json column keeps as they are."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


class Database:
    """A pool of connections to Holdfast's schema. Raises UsageError for an address that is none."""

    def __init__(self, url: str, *, size: int = 10, patience: float = PATIENCE) -> None:
        self.url = url
        self._patience = patience
        self.snapshots = Snapshots()
        self.fresh: Recent[PartId, Any] = Recent()  # calls.FreshCall, which knows us
        self.contexts: Recent[tuple[SessionId, SnapshotId], Any] = Recent()  # calls.Context
        self.told: Callable[[Record], None] | None = None  # gets to know of every event that we have committed
        self.notifications = Notifications(self._notify)
        self._renewed_at = float("-inf")
        self._pool = AsyncConnectionPool(
            url,
            connection_class=Connection,
            min_size=0,
            max_size=size,
            open=False,
            timeout=patience,
            reconnect_timeout=patience,
            configure=_configure,
            kwargs=parameters(url, patience=patience),
        )

    async def __aenter__(self) -> "Database":
        await self._pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.notifications.close()
        await self._pool.close()

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """The rows of one query, keyed by column: one round trip. Raises Unavailable."""
        async with self._connection() as connection, io_failpoint("external.sql", lambda: cut(connection)):
            return await connection.rows(query, **values)

    async def now(self) -> datetime:
        """The database's clock, by which all times of rows are compared. Raises Unavailable."""
        (row,) = await self.rows(b"SELECT now() AS now")
        now: datetime = row["now"]
        return now

    async def stream(self, query: bytes, **values: Any) -> AsyncGenerator[dict[str, Any], None]:
        """The rows of one query as they come, for what is too much to be held at once: it keeps a connection until it
        is closed. Raises Unavailable."""
        async with self._connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            rows = cast("AsyncGenerator[dict[str, Any], None]", cursor.stream(query, values))
            async with aclosing(rows):
                async for row in rows:
                    yield row

    @asynccontextmanager
    async def statements(self, begin: bytes = b"BEGIN", *, limit: float | None = None) -> AsyncIterator[Statements]:
        """A transaction whose statements travel together; commits at the end of the block. Raises Unavailable.

        `limit` is how many seconds the server may take to answer, where that may be many.
        """
        async with self._connection(limit) as connection:
            said = Statements(connection, begin)
            try:
                yield said
                await said.commit()
            finally:
                await said.close()

    @asynccontextmanager
    async def transaction(self, *, limit: float | None = None) -> AsyncIterator[AsyncConnection[TupleRow]]:
        """A transaction of its own; commits at the end of the block. `limit` as above. Raises Unavailable."""
        async with self._connection(limit) as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def _connection(self, limit: float | None = None) -> AsyncIterator[Connection]:
        """A connection of the pool."""
        with reaching():
            try:
                async with self._pool.connection() as connection:
                    try:
                        with connection.limited(limit):
                            yield connection
                    except psycopg.Error as error:
                        if connection.broken or isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                            await self._renew()
                        raise
            except PoolTimeout:
                await self._knock()
                raise

    async def _notify(self, sessions: list[SessionId]) -> None:
        async with self._connection() as connection:
            await connection.rows(_QUERIES.send, channel=CHANNEL, sessions=sessions)

    async def _renew(self) -> None:
        """Have all connections made anew: where one is broken, or leads to a server that has become a replica, so may
        the others."""
        now = asyncio.get_running_loop().time()
        if now - self._renewed_at > _RENEWED:
            self._renewed_at = now
            await self._pool.drain()

    async def _knock(self) -> None:
        """Raise what keeps the pool from connecting: it does not tell by itself."""
        async with await connect(self.url, **network(self.url, patience=self._patience)):
            pass

    @asynccontextmanager
    async def alone(self, key: int, *, silence: int | None = None) -> AsyncIterator[bool]:
        """Whether we hold an advisory lock while the block runs; a connection that breaks gives it back.

        With a `silence` in seconds, the server takes it back from who was not heard of for so long: a process that is
        frozen or a machine that is cut off does not keep the others waiting. It may wake and go on beside them, so that
        is for work which may be done twice.
        """
        settings = "" if silence is None else f"-c idle_session_timeout={silence}s"
        with reaching():
            async with await connect(self.url, **parameters(self.url, settings=settings)) as connection:
                (row,) = await connection.rows(b"SELECT pg_try_advisory_lock(%(key)s) AS mine", key=key)
                telling = () if silence is None else (asyncio.create_task(_tell(connection, silence / 5)),)
                try:
                    yield bool(row["mine"])
                finally:
                    await ended(*telling)

    @asynccontextmanager
    async def listening(self, channel: str, *, name: str | None = None) -> AsyncIterator[Connection]:
        """A connection of its own outside the pool, listening on a channel; others may find it by its `name`."""
        with reaching():
            async with await connect(self.url, **parameters(self.url), application_name=name) as connection:
                await connection.rows(f"LISTEN {channel}".encode())
                yield connection


async def _tell(connection: Connection, every: float) -> None:
    """Have the server hear of us every so many seconds, as long as it does."""
    with suppress(Unavailable), reaching():
        while True:
            await asyncio.sleep(every)
            await connection.rows(b"SELECT")


async def _configure(connection: AsyncConnection[TupleRow]) -> None:
    set_json_dumps(dumps, connection)
    set_json_loads(json.loads, connection)
    connection.prepare_threshold = (
        None  # the driver forgets all statements at a rollback, those that we have prepared too
    )
