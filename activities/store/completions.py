"""Existing ids, for shell completion."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.value import Value

_QUERIES: Final = Queries("completions")


class CompletionRow(Value):
    """`title` describes the id."""

    id: str
    title: str


async def complete_sessions(database: Database, prefix: str) -> list[CompletionRow]:
    """Sessions, the last changed first."""
    return [CompletionRow(**row) for row in await database.rows(_QUERIES.sessions, prefix=prefix)]


async def complete_asks(database: Database, prefix: str) -> list[CompletionRow]:
    """Open asks, the oldest first."""
    return [CompletionRow(**row) for row in await database.rows(_QUERIES.asks, prefix=prefix)]


async def complete_grants(database: Database, prefix: str) -> list[CompletionRow]:
    """Live grants, the newest first."""
    rows = await database.rows(_QUERIES.grants, prefix=prefix)
    return [CompletionRow(id=row["id"], title=f"{row['body']['permission']}, {row['title']}") for row in rows]


async def complete_schedules(database: Database, prefix: str) -> list[CompletionRow]:
    """Schedules that are not deleted, the next due first."""
    return [CompletionRow(**row) for row in await database.rows(_QUERIES.schedules, prefix=prefix)]
