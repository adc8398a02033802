"""Ids that exist, to complete what somebody has begun to type."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.value import Value

_QUERIES: Final = Queries("known")


class Known(Value):
    """An id, and a word on what it is."""

    id: str
    title: str


async def sessions(database: Database, begun: str) -> list[Known]:
    """Sessions whose ids begin so, the last changed first."""
    return [Known(**row) for row in await database.rows(_QUERIES.sessions, begun=begun)]


async def asks(database: Database, begun: str) -> list[Known]:
    """Open asks whose ids begin so, the oldest first."""
    return [Known(**row) for row in await database.rows(_QUERIES.asks, begun=begun)]


async def grants(database: Database, begun: str) -> list[Known]:
    """Grants that hold and whose ids begin so, the newest first."""
    rows = await database.rows(_QUERIES.grants, begun=begun)
    return [Known(id=row["id"], title=f"{row['body']['permission']}, {row['title']}") for row in rows]
