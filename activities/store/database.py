"""The connection pool, our JSON in and out, and what an unreachable database is called."""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow, dict_row
from psycopg.types.json import set_json_dumps, set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from activities.cancelling import ended
from activities.failpoints import io_failpoint
from activities.store.cut import cut
from activities.store.recent import Recent
from activities.store.snapshots import Snapshots
from activities.store.statements import Statements
from activities.store.wire import Connection, Rows, Statement
from workflows.domain.errors import Unavailable, UsageError
from workflows.domain.ids import PartId, SessionId, SnapshotId

if TYPE_CHECKING:
    from workflows.domain.events import Record

_OPTIONS: Final = (
    "-c search_path=holdfast -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s "
    "-c jit=off"  # none of our queries runs for so long that compiling it would pay
)
PATIENCE: Final = 10  # seconds for a connection; so long the pool's pauses between two tries grow, then begin anew
_UNREACHABLE: Final = (
    *(psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed),
    psycopg.errors.IdleInTransactionSessionTimeout,
)

_OF_ANOTHER_SCHEMA: Final = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
)


def dumps(value: Any) -> str:
    """JSON in ASCII: NUL and lone surrogates stay escapes, which a json column keeps as they are."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


class Unprepared(Unavailable):
    """The database does not have the tables that this Holdfast needs."""


class Unreachable(Unavailable):
    """PostgreSQL does not answer, or does not let us in; `bare` says it for pages that give the way out themselves."""

    def __init__(self, why: str) -> None:
        super().__init__(f"PostgreSQL cannot be reached (`holdfast doctor` says what to do): {why}")
        self.bare = f"PostgreSQL cannot be reached: {why}"


class Moved(Exception):
    """A row is not as it was when it was last seen: what was decided on by then has to be decided anew."""


class Database:
    """A pool of connections to Holdfast's schema."""

    def __init__(self, url: str, *, size: int = 10, patience: float = PATIENCE) -> None:
        self.url = url
        self._patience = patience
        self.snapshots = Snapshots()
        self.fresh: Recent[PartId, Any] = Recent()  # calls.FreshCall, which knows us
        self.contexts: Recent[tuple[SessionId, SnapshotId], Any] = Recent()  # calls.Context
        self.told: Callable[[Record], None] | None = None  # gets to know of every event that we have committed
        self._check: asyncio.Task[None] | None = None
        self._connecting: dict[str, Any] = {
            "options": _OPTIONS,
            "autocommit": True,
            "connect_timeout": math.ceil(patience),
        }
        self._pool = AsyncConnectionPool(
            url,
            connection_class=Connection,
            min_size=0,
            max_size=size,
            open=False,
            timeout=patience,
            reconnect_timeout=patience,
            configure=_configure,
            kwargs=self._connecting,
        )

    async def __aenter__(self) -> "Database":
        """Raises UsageError for an address that is none."""
        checked(self.url)
        await self._pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._check is not None:
            self._check.cancel()
            await asyncio.wait([self._check], timeout=1)
        await self._pool.close()

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """The rows of one query, keyed by column: one round trip. Raises Unavailable."""
        async with self._connection() as connection:
            async with io_failpoint("external.sql", lambda: cut(connection)):
                (rows,) = await connection.exchange([Statement(query, values)])
            return rows

    async def stream(self, query: bytes, **values: Any) -> AsyncGenerator[dict[str, Any], None]:
        """The rows of one query as they come, for what is too much to be held at once: it keeps a connection until it
        is closed. Raises Unavailable."""
        async with self._connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            rows = cast("AsyncGenerator[dict[str, Any], None]", cursor.stream(query, values))
            async with aclosing(rows):
                async for row in rows:
                    yield row

    @asynccontextmanager
    async def statements(self, begin: bytes = b"BEGIN") -> AsyncIterator[Statements]:
        """A transaction whose statements travel together; commits at the end of the block. Raises Unavailable."""
        async with self._connection() as connection:
            said = Statements(connection, begin)
            try:
                yield said
                await said.commit()
            finally:
                await said.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[TupleRow]]:
        """A transaction of its own; commits at the end of the block. Raises Unavailable."""
        async with self._connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        """A connection of the pool. Where one is found broken, after a restart of PostgreSQL say, so may be others."""
        with reaching():
            try:
                async with self._pool.connection() as connection:
                    try:
                        yield connection
                    finally:
                        if connection.broken:
                            self._look_at_the_others()
            except PoolTimeout:
                await self._knock()
                raise

    def _look_at_the_others(self) -> None:
        """Beside us, for it takes a cancellation for another broken connection, and waits for frozen ones."""
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(self._pool.check())

    async def _knock(self) -> None:
        """Raise what keeps the pool from connecting: it does not tell by itself."""
        async with await AsyncConnection.connect(self.url, connect_timeout=math.ceil(self._patience)):
            pass

    @asynccontextmanager
    async def alone(self, key: int, *, silence: int | None = None) -> AsyncIterator[bool]:
        """Whether we hold an advisory lock while the block runs; a connection that breaks gives it back.

        With a `silence` in seconds, the server takes it back from who was not heard of for so long: a process that is
        frozen or a machine that is cut off does not keep the others waiting. It may wake and go on beside them, so that
        is for work which may be done twice.
        """
        options = _OPTIONS if silence is None else f"{_OPTIONS} -c idle_session_timeout={silence}s"
        with reaching():
            async with await AsyncConnection.connect(self.url, **self._connecting | {"options": options}) as connection:
                row = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", [key])).fetchone()
                telling = () if silence is None else (asyncio.create_task(_tell(connection, silence / 5)),)
                try:
                    yield bool(row and row[0])
                finally:
                    await ended(*telling)

    @asynccontextmanager
    async def listening(self, channel: str, *, name: str | None = None) -> AsyncIterator[AsyncConnection[TupleRow]]:
        """A connection of its own outside the pool, listening on a channel; others may find it by its `name`."""
        with reaching():
            connection = await AsyncConnection.connect(self.url, **self._connecting, application_name=name)
            try:
                await connection.execute(f"LISTEN {channel}")
                yield connection
            finally:
                await connection.close()


async def _tell(connection: AsyncConnection[TupleRow], every: float) -> None:
    """Have the server hear of us every so many seconds, as long as it does."""
    with suppress(*_UNREACHABLE):
        while True:
            await asyncio.sleep(every)
            await connection.execute("SELECT")


def checked(url: str) -> str:
    """An address that names a database. Raises UsageError, which does not quote it: it may hold a password."""
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise UsageError(
            "HOLDFAST_POSTGRES_URL is no address of a database: postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None
    return url


@contextmanager
def reaching() -> Iterator[None]:
    """Turn the driver's ways of saying "not reachable" into Unreachable, those of "no such table" into Unprepared, and
    our own of "not as it was" into Moved."""
    try:
        yield
    except psycopg.errors.SerializationFailure as error:  # of hold_session and hold_step: we serialize by locks
        raise Moved from error
    except psycopg.errors.LockNotAvailable as error:
        raise Unavailable("Another process has held this session's lock for 10 s; try again.") from error
    except _OF_ANOTHER_SCHEMA as error:
        raise Unprepared(
            "The database does not have the tables that this Holdfast needs. A worker of the same release makes them "
            f"when it starts; `holdfast doctor` compares the two. (PostgreSQL: {error.diag.message_primary or error})"
        ) from error
    except _UNREACHABLE as error:
        raise Unreachable(" ".join(str(error).split()) or type(error).__name__) from error


async def _configure(connection: AsyncConnection[TupleRow]) -> None:
    set_json_dumps(dumps, connection)
    set_json_loads(json.loads, connection)
    connection.prepare_threshold = (
        None  # the driver forgets all statements at a rollback, those that we have prepared too
    )
