"""How all sessions stand now, in numbers."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.value import Value

_QUERIES: Final = Queries("standings")


class Standing(Value):
    """What waits and what works: open asks, and the seconds that the oldest has waited; open turns; untaken prompts;
    sessions that are parked, and stuck."""

    asks: int
    oldest: float
    turns: int
    prompts: int
    parked: int
    stuck: int


async def now(database: Database) -> Standing:
    """Raises Unavailable."""
    (row,) = await database.rows(_QUERIES.now)
    return Standing(**row)
