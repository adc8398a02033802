"""Counts failed attempts by what failed, across restarts: each kind has a limit of its own."""

from collections.abc import Iterable
from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import SessionId

_QUERIES: Final = Queries("faults")


async def count_failed_attempt(database: Database, session: SessionId, work: str, attempt: Iterable[int]) -> int:
    """Count an attempt, which its numbers name, once; returns the number of failures."""
    named = "-".join(map(str, attempt))
    (row,) = await database.rows(_QUERIES.count, session=session, work=work, attempt=named)
    counted: int = row["count"]
    return counted
