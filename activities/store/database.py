"""The connection pool and its transactions."""

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

from activities.cancellation import cancel_and_wait
from activities.failpoints import io_failpoint
from activities.store.lru_cache import LruCache
from activities.store.notification_hub import NotificationHub
from activities.store.outages import translate_errors
from activities.store.pg_connect import CONNECT_TIMEOUT, connect, connection_options, network_options
from activities.store.pg_notify import CHANNEL, NotifySender
from activities.store.pg_protocol import PipelinedConnection, Rows
from activities.store.queries import Queries
from activities.store.statements import Statements, cut_connection
from activities.store.turn_configs import TurnConfigCache
from workflows.domain.errors import Unavailable
from workflows.domain.ids import PartId, SessionId, TurnConfigId

if TYPE_CHECKING:
    from workflows.domain.events.event import Event

_QUERIES: Final = Queries("pg_notify")
_CACHED: Final = 500  # entries of a cache; what is never fetched is dropped
_DRAIN_INTERVAL: Final = 1.0  # seconds between two replacements of the pool
_UNLOCK_TIMEOUT: Final = 1.0  # seconds; the end of the connection releases a lock, too


def dumps(value: Any) -> str:
    """JSON in ASCII: a json column keeps the escapes of NUL and of lone surrogates."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


class Database:
    """A pool of connections to Holdfast's schema. Raises UsageError for an invalid address.

    `pooler`: the address of a transaction pooler in front of the server, for all but what needs a connection of its
    own: LISTEN, and locks that outlast a transaction. The pooler's connections have our settings already.
    """

    def __init__(
        self, url: str, *, pooler: str | None = None, size: int = 10, connect_timeout: float = CONNECT_TIMEOUT
    ) -> None:
        self.url = url
        self._pool_url = pooler or url
        self._connect_timeout = connect_timeout
        self.turn_configs = TurnConfigCache()
        # Any: of values of `activities.store.calls`, which imports this module.
        self.prepared_calls: LruCache[PartId, Any] = LruCache(_CACHED)  # of PreparedCall
        self.call_environments: LruCache[tuple[SessionId, TurnConfigId], Any] = LruCache(_CACHED)  # of CallEnvironment
        self.on_commit: Callable[[Event], None] | None = None  # called for each event committed by this process
        self.notifications = NotifySender(self._notify)
        self.hub = NotificationHub(self.listen)
        self._drained_at = float("-inf")
        self._pool = AsyncConnectionPool(
            self._pool_url,
            connection_class=PipelinedConnection,
            min_size=0,
            max_size=size,
            open=False,
            timeout=connect_timeout,
            reconnect_timeout=connect_timeout,
            configure=_configure_pooled if pooler else _configure,
            kwargs=connection_options(self._pool_url, connect_timeout=connect_timeout, pooled=bool(pooler)),
        )

    async def __aenter__(self) -> "Database":
        await self._pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hub.close()
        await self.notifications.close()
        await self._pool.close()

    async def rows(self, query: bytes, **values: Any) -> Rows:
        async with self._connection() as connection, io_failpoint("external.sql", lambda: cut_connection(connection)):
            return await connection.rows(query, **values)

    async def now(self) -> datetime:
        """The database's clock, which dates all rows."""
        (row,) = await self.rows(b"SELECT now() AS now")
        now: datetime = row["now"]
        return now

    async def stream(self, query: bytes, **values: Any) -> AsyncGenerator[dict[str, Any], None]:
        """The rows of one query as they arrive; holds a connection until closed."""
        async with self._connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            rows = cast("AsyncGenerator[dict[str, Any], None]", cursor.stream(query, values))
            async with aclosing(rows):
                async for row in rows:
                    yield row

    @asynccontextmanager
    async def statements(self, begin: bytes = b"BEGIN", *, limit: float | None = None) -> AsyncIterator[Statements]:
        """A transaction whose statements travel together. `limit`: seconds for the server to answer, if not the
        usual."""
        async with self._connection(limit) as connection:
            batch = Statements(connection, begin)
            try:
                yield batch
                await batch.commit()
            finally:
                await batch.close()

    @asynccontextmanager
    async def transaction(self, *, limit: float | None = None) -> AsyncIterator[AsyncConnection[TupleRow]]:
        """For one that also reads or writes a file; `limit` as above."""
        async with self._connection(limit) as connection, connection.transaction():
            await connection.execute(b"SET LOCAL idle_in_transaction_session_timeout = '60s'")
            yield connection

    @asynccontextmanager
    async def _connection(self, limit: float | None = None) -> AsyncIterator[PipelinedConnection]:
        with translate_errors():
            try:
                async with self._pool.connection() as connection:
                    try:
                        with connection.response_timeout(limit):
                            yield connection
                    except psycopg.Error as error:
                        if connection.broken or isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                            await self._drain_pool()
                        raise
            except PoolTimeout:
                await self._raise_connect_error()
                raise

    async def _notify(self, sessions: list[SessionId]) -> None:
        async with self._connection() as connection:
            await connection.rows(_QUERIES.send, channel=CHANNEL, sessions=sessions)

    async def _drain_pool(self) -> None:
        """Close all connections: if one is broken, or its server has become a replica, the others may be too."""
        now = asyncio.get_running_loop().time()
        if now - self._drained_at > _DRAIN_INTERVAL:
            self._drained_at = now
            await self._pool.drain()

    async def _raise_connect_error(self) -> None:
        """Raise the reason why no connection opens, which the pool only logs."""
        options = network_options(self._pool_url, connect_timeout=self._connect_timeout)
        async with await connect(self._pool_url, **options):
            pass

    @asynccontextmanager
    async def advisory_lock(
        self, key: int, *, idle_timeout: int | None = None
    ) -> AsyncIterator[PipelinedConnection | None]:
        """The connection by which we hold an advisory lock during the block, as long as it lives; None: another does.

        `idle_timeout`: seconds without traffic that release it, too. A frozen process may wake and go on: only for work
        that may be done twice.
        """
        settings = "" if idle_timeout is None else f"-c idle_session_timeout={idle_timeout}s"
        with translate_errors():
            async with await connect(self.url, **connection_options(self.url, settings=settings)) as connection:
                (row,) = await connection.rows(b"SELECT pg_try_advisory_lock(%(key)s) AS mine", key=key)
                keep_alive = (
                    () if idle_timeout is None else (asyncio.create_task(_keep_alive(connection, idle_timeout / 5)),)
                )
                try:
                    yield connection if row["mine"] else None
                finally:
                    await cancel_and_wait(*keep_alive)
                    if row["mine"]:
                        await _unlock(connection, key)

    async def is_locked(self, key: int) -> bool:
        """Whether anybody holds this advisory lock; opens no connection."""
        return bool(await self.rows(_QUERIES.locked, key=key))

    @asynccontextmanager
    async def listen(self, channel: str, *, name: str | None = None) -> AsyncIterator[PipelinedConnection]:
        """Listen on a channel outside the pool; `name`: the application name."""
        with translate_errors():
            async with await connect(self.url, **connection_options(self.url), application_name=name) as connection:
                await connection.rows(f"LISTEN {channel}".encode())
                yield connection


async def _keep_alive(connection: PipelinedConnection, every: float) -> None:
    with suppress(Unavailable), translate_errors():
        while True:
            await asyncio.sleep(every)
            await connection.rows(b"SELECT")


async def _unlock(connection: PipelinedConnection, key: int) -> None:
    """The server notices the end of a connection some time later."""
    with suppress(psycopg.Error), connection.response_timeout(_UNLOCK_TIMEOUT):
        await connection.rows(b"SELECT pg_advisory_unlock(%(key)s)", key=key)


async def _configure(connection: AsyncConnection[TupleRow]) -> None:
    set_json_dumps(dumps, connection)
    set_json_loads(json.loads, connection)
    connection.prepare_threshold = None  # at a rollback, the driver drops all prepared statements, ours too


async def _configure_pooled(connection: PipelinedConnection) -> None:
    """The server's connection may be another one in each transaction."""
    await _configure(connection)
    connection.max_prepared = 0
