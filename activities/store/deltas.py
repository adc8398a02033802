"""Deltas: partial answers and output for watchers. They may be lost; the finished part counts."""

import asyncio
from datetime import datetime
from typing import Final

from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.pg_notify import WATCHER_LOCK_CLASS
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.ids import SessionId
from workflows.domain.views.deltas import PublishedDelta

POLL_INTERVAL: Final = 1.0  # seconds for which "is it watched" is cached
_QUERIES: Final = Queries("deltas")


class Watchers:
    """Whether a session is watched, cached for POLL_INTERVAL."""

    def __init__(self, database: Database, session: SessionId, present: bool | None = None) -> None:
        self._database = database
        self._session = session
        self._present = bool(present)
        self._asked_at = float("-inf") if present is None else asyncio.get_running_loop().time()

    async def present(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._asked_at >= POLL_INTERVAL:
            self._present = await is_watched(self._database, self._session)
            self._asked_at = now
        return self._present


async def is_watched(reader: RowReader, session: SessionId) -> bool:
    (row,) = await reader.rows(_QUERIES.is_watched, watchers=WATCHER_LOCK_CLASS, session=session)
    return bool(row["watched"])


async def since(database: Database, session: SessionId, after_id: int) -> list[PublishedDelta]:
    return [PublishedDelta(**row) for row in await database.rows(_QUERIES.since, session=session, after=after_id)]


async def newest_id(database: Database, session: SessionId) -> int:
    """The id of the newest delta; 0 if there is none."""
    (row,) = await database.rows(_QUERIES.newest, session=session)
    return int(row["newest"])


async def publish(
    database: Database, session: SessionId, source: str, attempt: str, bodies: list[dict[str, JsonValue]]
) -> None:
    async with database.statements() as batch:
        for body in bodies:
            batch.write(_QUERIES.publish, session=session, source=source, attempt=attempt, body=Json(body))
    database.notifications.add([session])


def delete(journal: Journal, source: str) -> None:
    """Delete the pieces of a finished part, which its event replaces."""
    journal.write(_QUERIES.delete, source=source)


async def delete_old(database: Database, before: datetime) -> None:
    """Delete the deltas of attempts that never finished."""
    await database.rows(_QUERIES.delete_old, before=before)
