"""Existing ids, for shell completion."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.views.inbox import Completion

_QUERIES: Final = Queries("completions")


async def complete_sessions(database: Database, prefix: str) -> list[Completion]:
    """Sessions, the last changed first."""
    return [Completion(**row) for row in await database.rows(_QUERIES.sessions, prefix=prefix)]


async def complete_asks(database: Database, prefix: str) -> list[Completion]:
    """Open asks, the oldest first."""
    return [Completion(**row) for row in await database.rows(_QUERIES.asks, prefix=prefix)]


async def complete_grants(database: Database, prefix: str) -> list[Completion]:
    """Live grants, the newest first."""
    rows = await database.rows(_QUERIES.grants, prefix=prefix)
    return [Completion(id=row["id"], title=f"{row['body']['permission']}, {row['title']}") for row in rows]


async def complete_schedules(database: Database, prefix: str) -> list[Completion]:
    """Schedules that are not deleted, the next due first."""
    return [Completion(**row) for row in await database.rows(_QUERIES.schedules, prefix=prefix)]
