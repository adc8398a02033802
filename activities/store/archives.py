"""Archives: the rows of old sessions, on their way into a file, out of the database, and back."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import chain, groupby
from typing import Final

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow
from psycopg.types.json import Json

from activities.store.database import Database
from activities.store.queries import Queries
from activities.store.sessions import Archived
from activities.store.statements import Reads
from workflows.domain.errors import Conflict
from workflows.domain.ids import PartId, SessionId
from workflows.domain.value import Value

_QUERIES: Final = Queries("archives")
_LOCK: Final = 0x61726368  # advisory lock: "arch"
_BATCH: Final = 500  # rows
_LIMIT: Final = 600.0  # seconds for one statement: a session may have a million rows

_OWN: Final = b"session = ANY(%(sessions)s)"
_TURNS: Final = b"(SELECT id FROM turn WHERE session = ANY(%(sessions)s))"

# Which rows are a session's, table by table: what is referred to stands before what refers to it.
TABLES: Final = {
    "session": b"id = ANY(%(sessions)s)",
    "snapshot": b"id IN (SELECT snapshot FROM turn WHERE session = ANY(%(sessions)s))",
    "turn": _OWN,
    "prompt": _OWN,
    "retry": _OWN,
    "park": _OWN,
    "stop": _OWN,
    "generation": b"turn IN " + _TURNS,
    "message": _OWN,
    "part": b"message IN (SELECT id FROM message WHERE session = ANY(%(sessions)s))",
    "call": _OWN,
    "task": _OWN,
    "grant_": _OWN,
    "ask": _OWN,
    "note": _OWN,
    "todo": _OWN,
    "fault": _OWN,
    "event": _OWN + b" ORDER BY array_position(%(sessions)s, session), seq",
}
_RETIRED: Final = {"generation": {"broken"}}  # columns that older archives have
# Rows of sessions stay as signs of where they are; configurations, and grants for projects, are others' too.
_REMOVED: Final = {
    **{table: which for table, which in TABLES.items() if table not in ("session", "snapshot")},
    "grant_": _OWN + b" AND project IS NULL",
    "event": _OWN,
}


class Archivable(Value):
    """A session that is to be archived with those below it, on this host: where each one's log ends, and what speaks
    against it."""

    host: str | None
    sessions: tuple[SessionId, ...]
    ends: tuple[tuple[int, str], ...]
    obstacle: str | None

    @property
    def session(self) -> SessionId:
        return self.sessions[0]


async def old(
    reads: Reads, before: datetime, host: str | None = None, session: SessionId | None = None
) -> list[Archivable]:
    """The sessions of people that have not changed since `before`, or one of them, with what keeps them here; those of
    another host can only be archived there."""
    rows = await reads.rows(_QUERIES.tree, before=before, host=host, session=session)
    return [_archivable(list(family), host) for _, family in groupby(rows, key=lambda row: row["root"])]


async def root(reads: Reads, session: SessionId) -> SessionId:
    """The session of a person that this one is of or works for, whatever has become of it."""
    (row,) = await reads.rows(_QUERIES.root, session=session)
    return SessionId(row["id"])


def _archivable(family: list[dict[str, object]], host: str | None) -> Archivable:
    obstacles = [
        f"{row['session']}: {row['obstacle']}; see `holdfast sessions show {row['session']}`"
        for row in family
        if row["obstacle"]
    ]
    return Archivable(
        host=host,
        sessions=tuple(SessionId(str(row["session"])) for row in family),
        ends=tuple((int(str(row["seq"])), str(row["head"])) for row in family),
        obstacle=obstacles[-1] if obstacles else None,  # what keeps a subagent keeps those above it at work
    )


@asynccontextmanager
async def archiving(database: Database) -> AsyncIterator[bool]:
    """Whether this process may archive now: one at a time."""
    async with database.alone(_LOCK) as mine:
        yield mine


class Export:
    """All rows of some sessions, as they were at one moment."""

    def __init__(self, connection: AsyncConnection[TupleRow], sessions: Sequence[SessionId]) -> None:
        self._connection = connection
        self._values = {"sessions": list(sessions)}

    async def rows(self, table: str) -> AsyncIterator[list[dict[str, str | None]]]:
        """The rows of a table in batches: columns and values as PostgreSQL writes them."""
        columns = await _columns(self._connection, table)
        query = b"COPY (SELECT " + _listed(columns) + b" FROM " + table.encode() + b" WHERE " + TABLES[table]
        batch: list[dict[str, str | None]] = []
        async with self._connection.cursor() as cursor, cursor.copy(query + b") TO STDOUT", self._values) as copy:
            async for row in copy.rows():
                batch.append(dict(zip(columns, row, strict=True)))
                if len(batch) == _BATCH:
                    yield batch
                    batch = []
        if batch:
            yield batch


@asynccontextmanager
async def export(database: Database, sessions: Sequence[SessionId]) -> AsyncIterator[Export]:
    """Read sessions as they are at one moment. Raises Unavailable."""
    async with database.transaction(limit=_LIMIT) as connection:
        await connection.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield Export(connection, sessions)


async def remove(database: Database, which: Archivable, before: datetime, archived: Archived) -> list[PartId]:
    """Remove the rows of what lies in a file, if it is still as it is there; its calls.

    Raises Conflict when something has happened to one of the sessions meanwhile.
    """
    named = {"sessions": list(which.sessions)}
    async with database.statements(limit=_LIMIT) as said:
        await said.rows(_QUERIES.lock, **named)
        if await old(said, before, which.host, which.session) != [which]:
            raise Conflict(f"Session {which.session!r} was not archived: something has happened to it meanwhile.")
        calls = [PartId(row["id"]) for row in await said.rows(_QUERIES.calls, **named)]
        said.note(_QUERIES.leave, archive=Json(archived.model_dump(mode="json")), **named)
        for table, rows in reversed(_REMOVED.items()):
            said.note(b"DELETE FROM " + table.encode() + b" WHERE " + rows, **named)
        said.note(_QUERIES.forget_deltas, **named)
    return calls


@asynccontextmanager
async def restoring(database: Database, ends: Mapping[SessionId, tuple[int, str]]) -> AsyncIterator["Restore"]:
    """Bring sessions back in one transaction. Raises Conflict for one that is here, or whose log ended elsewhere."""
    async with database.transaction(limit=_LIMIT) as connection, connection.cursor() as cursor:
        await cursor.execute(_QUERIES.standing, {"sessions": list(ends)})
        for session, status, seq, head in await cursor.fetchall():
            if status != "archived":
                raise Conflict(f"Session {session!r} is here: it is not archived, and nothing has to be brought back.")
            if (seq, head) != ends[session]:
                raise Conflict(f"Session {session!r} was archived with another log: this is not the archive of it.")
        yield Restore(connection, cursor)
        await cursor.execute(_QUERIES.explain, {"sessions": list(ends)})
        await cursor.execute(_QUERIES.returned, {"sessions": list(ends)})


class Restore:
    """Puts rows back: what others have kept meanwhile, a grant for a project say, stays as it is now."""

    def __init__(self, connection: AsyncConnection[TupleRow], cursor: AsyncCursor[TupleRow]) -> None:
        self._connection = connection
        self._cursor = cursor

    async def rows(self, table: str, rows: Iterable[Mapping[str, str | None]]) -> None:
        """Rows of one table. Raises Conflict for an archive of a newer version, which has more columns."""
        retired = _RETIRED.get(table, set())
        given = ({name: value for name, value in row.items() if name not in retired} for row in rows)
        first = next(given)
        if unknown := sorted(set(first) - set(await _columns(self._connection, table))):
            raise Conflict(f"The archive knows more of {table!r} ({', '.join(unknown)}): use a newer Holdfast.")
        name, columns = table.encode(), _listed(first)
        await self._cursor.execute(b"CREATE TEMP TABLE staged (LIKE " + name + b" INCLUDING DEFAULTS) ON COMMIT DROP")
        async with self._cursor.copy(b"COPY staged (" + columns + b") FROM STDIN") as copy:
            for row in chain((first,), given):
                await copy.write_row(list(row.values()))
        insert = b"INSERT INTO " + name + b" (" + columns + b") SELECT " + columns + b" FROM staged"
        await self._cursor.execute(insert + _met(table, first))
        await self._cursor.execute(b"DROP TABLE staged")


def _met(table: str, columns: Iterable[str]) -> bytes:
    """What becomes of a row that is there: the sign that was left for a session gives way to the session."""
    if table != "session":
        return b" ON CONFLICT DO NOTHING"
    taken = b", ".join(name.encode() + b" = excluded." + name.encode() for name in columns)
    return b" ON CONFLICT (id) DO UPDATE SET " + taken


def _listed(columns: Iterable[str]) -> bytes:
    return b", ".join(name.encode() for name in columns)


async def _columns(connection: AsyncConnection[TupleRow], table: str) -> list[str]:
    return [row[0] for row in await (await connection.execute(_QUERIES.columns, {"table": table})).fetchall()]
