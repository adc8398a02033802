"""Counts of what waits and works, for metrics."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.value import Value

_QUERIES: Final = Queries("queue_stats")


class QueueStats(Value):
    """Open asks and the age of the oldest; open turns; untaken prompts; suspended and stuck sessions."""

    asks: int
    oldest_ask_seconds: float
    turns: int
    prompts: int
    suspended: int
    stuck: int


async def read_queue_stats(database: Database) -> QueueStats:
    (row,) = await database.rows(_QUERIES.read)
    return QueueStats(**row)
