"""Deleted sessions: their contents are erased; their events stay, and still verify."""

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
    """False: it was deleted. Raises Conflict for a session at work."""
    (row,) = await reader.rows(_QUERIES.obstacle, session=session)
    if row["obstacle"] is not None:
        raise Conflict(
            f"Session {session!r} {row['obstacle']}: `holdfast stop {session}` stops it, and then it can be deleted."
        )
    return not row["gone"]


async def erase(journal: Journal, top: SessionId | None) -> list[PartId]:
    """Returns the calls that are gone. Grants for a whole project stay. Raises Conflict for a session at work."""
    await is_left(journal, journal.session)
    calls = [PartId(row["id"]) for row in await journal.rows(_QUERIES.calls, session=journal.session)]
    journal.record(SessionDeleted(top=top))
    journal.write(_QUERIES.delete_tasks, session=journal.session)
    for table, rows in reversed(_ERASED.items()):
        journal.write(b"DELETE FROM " + table.encode() + b" WHERE " + rows, sessions=[journal.session])
    journal.write(_QUERIES.delete_deltas, session=journal.session)
    journal.write(_QUERIES.erase, session=journal.session)
    journal.write(_QUERIES.delete_projects)
    return calls
