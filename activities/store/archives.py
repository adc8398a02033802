"""Rows of archived sessions: export, remove, restore."""

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
from activities.store.statements import RowReader
from workflows.domain.errors import Conflict
from workflows.domain.ids import PartId, SessionId
from workflows.domain.value import Value
from workflows.domain.views.sessions import ArchiveLocation

_QUERIES: Final = Queries("archives")
_LOCK: Final = 0x61726368  # advisory lock: "arch"
_BATCH: Final = 500  # rows
_LIMIT: Final = 600.0  # seconds for one statement: a session may have a million rows

_BY_SESSION: Final = b"session = ANY(%(sessions)s)"
_WORK: Final = b"(SELECT id FROM work WHERE session = ANY(%(sessions)s))"

# In the order of their references: a table comes after those that it references.
TABLES: Final = {
    "session": b"id = ANY(%(sessions)s)",
    "session_head": _BY_SESSION,
    "turn_config": b"id IN (SELECT turn_config FROM turn WHERE session = ANY(%(sessions)s))",
    "turn": _BY_SESSION,
    "work": _BY_SESSION,
    "prompt": b"id IN " + _WORK,
    "retry": b"id IN " + _WORK,
    "compaction_request": b"id IN " + _WORK,
    "suspension": _BY_SESSION,
    "stop": _BY_SESSION,
    "generation": _BY_SESSION,
    "attempt": b"generation IN (SELECT id FROM generation WHERE session = ANY(%(sessions)s))",
    "aside_request": _BY_SESSION,
    "message": _BY_SESSION,
    "compaction": _BY_SESSION,
    "compaction_try": _BY_SESSION,
    "part": b"message IN (SELECT id FROM message WHERE session = ANY(%(sessions)s))",
    "call": _BY_SESSION,
    "pruning": _BY_SESSION,
    "file_change": _BY_SESSION,
    "attached_instruction": _BY_SESSION,
    "seen_file": _BY_SESSION,
    "task": _BY_SESSION,
    "wait": _BY_SESSION,
    "grant_": _BY_SESSION,
    "ask": _BY_SESSION,
    "budget": _BY_SESSION,
    "reservation": _BY_SESSION,
    "note": _BY_SESSION,
    "todo": _BY_SESSION,
    "fault": _BY_SESSION,
    "refusal": _BY_SESSION,
    "event": _BY_SESSION + b" ORDER BY array_position(%(sessions)s, session), seq",
}
# The rows of a session and of its head stay, to name the archive. Configurations are shared; a project's grant outlives
# its session.
_KEYS: Final = {"session": b"id", "session_head": b"session"}
CONTENT_ROWS: Final = {
    **{table: which for table, which in TABLES.items() if table not in (*_KEYS, "turn_config")},
    "grant_": _BY_SESSION + b" AND project IS NULL",
    "event": _BY_SESSION,
    "outbox": _BY_SESSION,  # moot: the sessions rest
    "refresh": _BY_SESSION,
}


class ArchiveCandidate(Value):
    """A session and those below it, parents first; the ends of their logs; what prevents archiving."""

    host: str | None
    sessions: tuple[SessionId, ...]
    ends: tuple[tuple[int, str], ...]
    obstacle: str | None

    @property
    def session(self) -> SessionId:
        return self.sessions[0]


async def candidates(
    reader: RowReader, before: datetime, host: str | None = None, session: SessionId | None = None
) -> list[ArchiveCandidate]:
    """People's sessions unchanged since `before`, or one `session`; another `host` is an obstacle."""
    rows = await reader.rows(_QUERIES.candidates, before=before, host=host, session=session)
    return [_candidate(list(tree_rows), host) for _, tree_rows in groupby(rows, key=lambda row: row["root"])]


async def root_session(reader: RowReader, session: SessionId) -> SessionId:
    (row,) = await reader.rows(_QUERIES.root, session=session)
    return SessionId(row["id"])


def _candidate(tree_rows: list[dict[str, object]], host: str | None) -> ArchiveCandidate:
    obstacles = [
        f"{row['session']}: {row['obstacle']}; see `holdfast sessions show {row['session']}`"
        for row in tree_rows
        if row["obstacle"]
    ]
    return ArchiveCandidate(
        host=host,
        sessions=tuple(SessionId(str(row["session"])) for row in tree_rows),
        ends=tuple((int(str(row["seq"])), str(row["head"])) for row in tree_rows),
        obstacle=obstacles[-1] if obstacles else None,  # the deepest: a busy subagent keeps those above it busy
    )


@asynccontextmanager
async def archive_lock(database: Database) -> AsyncIterator[bool]:
    """Whether this process may archive now: one at a time."""
    async with database.advisory_lock(_LOCK) as held:
        yield held is not None


class Export:
    """All rows of some sessions, in one snapshot."""

    def __init__(self, connection: AsyncConnection[TupleRow], sessions: Sequence[SessionId]) -> None:
        self._connection = connection
        self._values = {"sessions": list(sessions)}

    async def rows(self, table: str) -> AsyncIterator[list[dict[str, str | None]]]:
        """A table's rows in batches; values in PostgreSQL's text format."""
        columns = await _columns(self._connection, table)
        query = b"COPY (SELECT " + _column_list(columns) + b" FROM " + table.encode() + b" WHERE " + TABLES[table]
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
    async with database.transaction(limit=_LIMIT) as connection:
        await connection.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield Export(connection, sessions)


async def remove(
    database: Database, which: ArchiveCandidate, before: datetime, archived: ArchiveLocation
) -> list[PartId]:
    """Returns the removed calls. Raises Conflict if a session has changed since."""
    parameters = {"sessions": list(which.sessions)}
    async with database.statements(limit=_LIMIT) as batch:
        await batch.rows(_QUERIES.lock, **parameters)
        if await candidates(batch, before, which.host, which.session) != [which]:
            raise Conflict(f"Session {which.session!r} was not archived: something has happened to it meanwhile.")
        calls = [PartId(row["id"]) for row in await batch.rows(_QUERIES.calls, **parameters)]
        batch.write(_QUERIES.mark_archived, archive=Json(archived.model_dump(mode="json")), **parameters)
        for table, rows in reversed(CONTENT_ROWS.items()):
            batch.write(b"DELETE FROM " + table.encode() + b" WHERE " + rows, **parameters)
        batch.write(_QUERIES.delete_deltas, **parameters)
    return calls


@asynccontextmanager
async def open_restore(database: Database, ends: Mapping[SessionId, tuple[int, str]]) -> AsyncIterator["Restore"]:
    """Restores in one transaction. Raises Conflict for a session that is not archived or has another log."""
    async with database.transaction(limit=_LIMIT) as connection, connection.cursor() as cursor:
        await cursor.execute(_QUERIES.lock_archived, {"sessions": list(ends)})
        for session, status, seq, head in await cursor.fetchall():
            if status == "deleted":
                raise Conflict(f"Session {session!r} was deleted: it does not come back.")
            if status != "archived":
                raise Conflict(f"Session {session!r} is here: it is not archived, and nothing has to be brought back.")
            if (seq, head) != ends[session]:
                raise Conflict(f"Session {session!r} was archived with another log: this is not the archive of it.")
        yield Restore(connection, cursor)
        await cursor.execute(_QUERIES.mark_restored, {"sessions": list(ends)})


class Restore:
    """Inserts rows; existing ones, such as a project's grant, stay."""

    def __init__(self, connection: AsyncConnection[TupleRow], cursor: AsyncCursor[TupleRow]) -> None:
        self._connection = connection
        self._cursor = cursor

    async def rows(self, table: str, rows: Iterable[Mapping[str, str | None]]) -> None:
        """Raises Conflict for columns that only a newer version knows."""
        remaining = iter(rows)
        first = next(remaining)
        if unknown := sorted(set(first) - set(await _columns(self._connection, table))):
            raise Conflict(f"The archive knows more of {table!r} ({', '.join(unknown)}): use a newer Holdfast.")
        name, columns = table.encode(), _column_list(first)
        await self._cursor.execute(b"CREATE TEMP TABLE staged (LIKE " + name + b" INCLUDING DEFAULTS) ON COMMIT DROP")
        async with self._cursor.copy(b"COPY staged (" + columns + b") FROM STDIN") as copy:
            for row in chain((first,), remaining):
                await copy.write_row(list(row.values()))
        insert = b"INSERT INTO " + name + b" (" + columns + b") SELECT " + columns + b" FROM staged"
        await self._cursor.execute(insert + _on_conflict(table, first))
        if table == "turn_config":  # those that are there, too, in the order of a deletion: the turns follow
            await self._cursor.execute(_QUERIES.lock_turn_configs)
        await self._cursor.execute(b"DROP TABLE staged")


def _on_conflict(table: str, columns: Iterable[str]) -> bytes:
    """Rows that archiving leaves are replaced."""
    if table not in _KEYS:
        return b" ON CONFLICT DO NOTHING"
    assignments = b", ".join(name.encode() + b" = excluded." + name.encode() for name in columns)
    return b" ON CONFLICT (" + _KEYS[table] + b") DO UPDATE SET " + assignments


def _column_list(columns: Iterable[str]) -> bytes:
    return b", ".join(name.encode() for name in columns)


async def _columns(connection: AsyncConnection[TupleRow], table: str) -> list[str]:
    return [row[0] for row in await (await connection.execute(_QUERIES.columns, {"table": table})).fetchall()]
