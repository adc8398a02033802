"""What sessions have used: sums over their answers and calls."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import SessionId
from workflows.domain.session_filter import SessionFilter
from workflows.domain.usage import Cost, Tokens
from workflows.domain.value import Value

_QUERIES: Final = Queries("statistics")
_LIMIT: Final = 120.0  # seconds: all answers of a hundred thousand sessions may be asked for
_TOKENS: Final = ("input", "output", "reasoning", "cache_read", "cache_write")


class UsageRow(Value):
    """The answers of one day, session, directory, agent or model (`kind`), or all. `others`: how many names follow."""

    kind: str
    name: str
    title: str | None
    steps: int
    sessions: int
    tokens: Tokens
    cost: Cost
    others: int


class ToolRow(Value):
    """Calls of a tool by their outcome; the rest are not settled."""

    tool: str
    calls: int
    done: int
    refused: int
    failed: int


class StatisticsRows(Value):
    """`archived`: sessions that are not counted."""

    usage: tuple[UsageRow, ...]
    tools: tuple[ToolRow, ...]
    archived: int


async def read(
    database: Database,
    wanted: SessionFilter,
    *,
    host: str | None,
    sessions: Sequence[SessionId] | None,
    offset: timedelta,
    limit: int,
) -> StatisticsRows:
    """`offset`: of local time, for the days. `limit`: names of each kind, the most expensive; of days the last ones."""
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
        answers, tools, (archived,) = await asyncio.gather(
            batch.rows(_QUERIES.answers, **values, offset=offset.total_seconds()),
            batch.rows(_QUERIES.tools, **values),
            batch.rows(_QUERIES.archived),
        )
    return StatisticsRows(
        usage=tuple(map(_usage, answers)), tools=tuple(ToolRow(**row) for row in tools), archived=archived["archived"]
    )


def _usage(row: dict[str, Any]) -> UsageRow:
    named = {name: row[name] for name in ("kind", "name", "title", "steps", "sessions", "others")}
    cost = Cost(dollars=row["dollars"], unpriced=row["unpriced"])
    return UsageRow(**named, tokens=Tokens(**{name: row[name] for name in _TOKENS}), cost=cost)
