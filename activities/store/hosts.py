"""Hosts: the machines, or whatever shares one file system, that sessions work on; and whether a worker is there."""

from datetime import datetime
from typing import Final

from activities.store.database import Database, Unprepared
from activities.store.queries import Queries
from workflows.domain.value import Value

EVERY: Final = 5.0  # seconds between two signs of life of a worker: three may be missed before its host counts as away
_QUERIES: Final = Queries("hosts")


class Host(Value):
    """A host; `working`: one of its workers was there just now. `sessions` have work there."""

    name: str
    working: bool
    seen_at: datetime | None
    sessions: int


async def seen(database: Database, name: str) -> None:
    """Note that a worker of this host is there."""
    await database.rows(_QUERIES.seen, name=name)


async def listed(database: Database) -> list[Host]:
    """The hosts that workers or sessions have named; none where nobody has prepared the database yet."""
    try:
        return [Host(**row) for row in await database.rows(_QUERIES.listed)]
    except Unprepared:
        return []
