"""Deltas: half answers and live output, for whoever watches; they may be lost, the finished part is the truth."""

import asyncio
from datetime import datetime
from typing import Final

from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import Reads
from workflows.domain.ids import SessionId
from workflows.domain.value import Value

LOOK_AGAIN: Final = 1.0  # seconds between two looks whether somebody watches
WATCHERS: Final = 1_346_851  # the class of our advisory locks for watched sessions, any number of our own
_QUERIES: Final = Queries("deltas")


class Delta(Value):
    """A piece of an answer or of a call's output that is not finished; `attempt` tells a retried answer apart."""

    id: int
    source: str
    attempt: str
    body: dict[str, JsonValue]


class Watchers:
    """Whether anybody watches a session: asked when it matters, and remembered for a second.

    `there` is what somebody has just found.
    """

    def __init__(self, database: Database, session: SessionId, there: bool | None = None) -> None:
        self._database = database
        self._session = session
        self._there = bool(there)
        self._asked_at = float("-inf") if there is None else asyncio.get_running_loop().time()

    async def there(self) -> bool:
        """Raises Unavailable."""
        now = asyncio.get_running_loop().time()
        if now - self._asked_at >= LOOK_AGAIN:
            self._there = await watched(self._database, self._session)
            self._asked_at = now
        return self._there


async def watching(reads: Reads, session: SessionId) -> bool:
    """Make the session count as watched, as long as this connection is open; False: just now it cannot be done."""
    (row,) = await reads.rows(_QUERIES.watching, watchers=WATCHERS, session=session)
    return bool(row["watching"])


async def watched(reads: Reads, session: SessionId) -> bool:
    """Whether somebody watches the session."""
    (row,) = await reads.rows(_QUERIES.watched, watchers=WATCHERS, session=session)
    return bool(row["watched"])


async def since(database: Database, session: SessionId, after_id: int) -> list[Delta]:
    """Pieces that came after `after_id`."""
    return [Delta(**row) for row in await database.rows(_QUERIES.since, session=session, after=after_id)]


async def newest(database: Database, session: SessionId) -> int:
    """The id of the newest piece that is there; 0 when there is none."""
    (row,) = await database.rows(_QUERIES.newest, session=session)
    return int(row["newest"])


async def keep(
    database: Database, session: SessionId, source: str, attempt: str, bodies: list[dict[str, JsonValue]]
) -> None:
    """Show pieces to whoever watches."""
    async with database.statements() as said:
        for body in bodies:
            said.note(_QUERIES.keep, session=session, source=source, attempt=attempt, body=Json(body))
    database.notifications.add([session])


def drop(opened: Journal, source: str) -> None:
    """Forget the pieces of what is finished: the event says it all."""
    opened.write(_QUERIES.drop, source=source)


async def drop_old(database: Database, before: datetime) -> None:
    """Forget pieces of attempts that never finished."""
    await database.rows(_QUERIES.drop_old, before=before)
