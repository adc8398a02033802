"""Attempts that failed by a fault of ours or in the middle of an answer, counted in rows: no restart begins anew."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import SessionId
from workflows.domain.wire import Fence

_QUERIES: Final = Queries("faults")


async def count(database: Database, session: SessionId, work: str, fence: Fence) -> int:
    """Count an attempt at some work that has failed; how many have. Each counts once."""
    attempt = "-".join(map(str, fence))
    (row,) = await database.rows(_QUERIES.count, session=session, work=work, attempt=attempt)
    counted: int = row["count"]
    return counted
