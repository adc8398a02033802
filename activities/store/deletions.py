"""Deleted sessions: their contents are erased; their events stay, and still verify."""

import asyncio
from collections.abc import Sequence
from typing import Final

from activities.store.archives import CONTENT_ROWS
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import SessionDeleted
from workflows.domain.ids import PartId, SessionId

_QUERIES: Final = Queries("deletions")
_ERASED: Final = {table: rows for table, rows in CONTENT_ROWS.items() if table != "event"}


async def is_left(reader: RowReader, session: SessionId) -> bool:
    """Whether the session is not deleted yet. Raises Conflict for a session at work."""
    (row,) = await reader.rows(_QUERIES.obstacle, session=session)
    if row["obstacle"] is not None:
        raise Conflict(
            f"Session {session!r} {row['obstacle']}: `holdfast stop {session}` stops it, and then it can be deleted."
        )
    return not row["gone"]


async def erase(journal: Journal, top: SessionId | None) -> None:
    """Grants for a whole project stay, and what other sessions share. Raises Conflict for a session at work."""
    await is_left(journal, journal.session)
    # locked before the statements that look whether others use them: those see what came meanwhile
    shared, configs = await asyncio.gather(
        journal.rows(_QUERIES.lock_project, session=journal.session),
        journal.rows(_QUERIES.lock_configs, session=journal.session),
    )
    journal.record(SessionDeleted(top=top))
    journal.write(_QUERIES.remove_files, session=journal.session)
    journal.write(_QUERIES.delete_tasks, session=journal.session)
    for table, rows in reversed(_ERASED.items()):
        journal.write(b"DELETE FROM " + table.encode() + b" WHERE " + rows, sessions=[journal.session])
    journal.write(_QUERIES.delete_deltas, session=journal.session)
    journal.write(_QUERIES.erase, session=journal.session)
    journal.write(_QUERIES.delete_configs, ids=[row["id"] for row in configs])
    for project in shared:
        journal.write(_QUERIES.delete_project, **project)


async def deleted(reader: RowReader, sessions: Sequence[SessionId]) -> list[SessionId]:
    return [SessionId(row["id"]) for row in await reader.rows(_QUERIES.deleted, sessions=list(sessions))]


async def removals(reader: RowReader, host: str | None, last: str, limit: int) -> list[PartId]:
    """A page, after `last`, of deleted calls whose files this host is to remove."""
    rows = await reader.rows(_QUERIES.removals, host=host, last=last, limit=limit)
    return [PartId(row["call"]) for row in rows]


async def removed(reader: RowReader, calls: Sequence[PartId]) -> None:
    """Note that the files of these calls are removed."""
    await reader.rows(_QUERIES.removed, calls=list(calls))
