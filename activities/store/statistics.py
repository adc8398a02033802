"""What sessions have used: sums over their answers and calls; and what waits and works now, for metrics."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import SessionId
from workflows.domain.session_filter import SessionFilter
from workflows.domain.statistics import Statistics, ToolEntry, UsageEntry
from workflows.domain.usage import Cost, Tokens
from workflows.domain.value import Value

_QUERIES: Final = Queries("statistics")
_LIMIT: Final = 120.0  # seconds: all answers of a hundred thousand sessions may be asked for
_TOKENS: Final = ("input", "output", "reasoning", "cache_read", "cache_write")


class QueueStats(Value):
    """Open asks and the age of the oldest; open turns; untaken prompts; suspended and stuck sessions."""

    asks: int
    oldest_ask_seconds: float
    turns: int
    prompts: int
    suspended: int
    stuck: int


async def read_queue_stats(database: Database) -> QueueStats:
    (row,) = await database.rows(_QUERIES.queues)
    return QueueStats(**row)


async def read(
    database: Database,
    wanted: SessionFilter,
    *,
    host: str | None,
    sessions: Sequence[SessionId] | None,
    offset: timedelta,
    limit: int,
) -> Statistics:
    """Days are those of local time, at `offset` from UTC. `limit`: how many names of each kind at most, the most
    expensive, and how many days, the last."""
    values = {
        **wanted.model_dump(include={"directory", "worktree", "since", "before"}),
        "below": None if wanted.below is None else wanted.below.rstrip("/") + "/",
        "agents": list(wanted.agents) or None,
        "sessions": None if sessions is None else list(sessions),
        "host": host,
        "limit": limit,
    }
    begin = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    async with database.statements(begin, limit=_LIMIT) as batch:
        answers, tools, (uncounted,) = await asyncio.gather(
            batch.rows(_QUERIES.answers, **values, offset=offset.total_seconds()),
            batch.rows(_QUERIES.tools, **values),
            batch.rows(_QUERIES.uncounted),
        )
    return Statistics(usage=tuple(map(_usage, answers)), tools=tuple(ToolEntry(**row) for row in tools), **uncounted)


def _usage(row: dict[str, Any]) -> UsageEntry:
    named = {name: row[name] for name in ("kind", "name", "title", "steps", "sessions", "others")}
    cost = Cost(dollars=row["dollars"], unpriced=row["unpriced"])
    return UsageEntry(**named, tokens=Tokens(**{name: row[name] for name in _TOKENS}), cost=cost)
