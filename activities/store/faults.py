"""Counts failed attempts by what failed, across restarts: each kind has a limit of its own."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import SessionId
from workflows.domain.wire import Fence

_QUERIES: Final = Queries("faults")


async def count_failed_attempt(database: Database, session: SessionId, work: str, fence: Fence) -> int:
    """Count an attempt, once; returns the number of failures."""
    attempt = "-".join(map(str, fence))
    (row,) = await database.rows(_QUERIES.count, session=session, work=work, attempt=attempt)
    counted: int = row["count"]
    return counted
