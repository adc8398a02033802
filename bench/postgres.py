"""What a step costs PostgreSQL: round trips, statements, and bytes that stay."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Final

import psycopg

from bench import sides
from bench.sides import Conversation, Ours, play
from bench.stage import Stage
from bench.table import Budget, Figure
from bench.wire import Tally, Transaction, counted

ROUND_TRIPS: Final = Budget(must=8, aim=5)
BYTES: Final = Budget(must=8192, aim=5120)
_STEPS: Final = 16

# The main fork only: free space maps and the like come in blocks of their own, once.
_STORED: Final = """
SELECT coalesce(sum(pg_relation_size(c.oid)), 0)
FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_class owner ON owner.oid = i.indrelid OR owner.reltoastrelid = c.oid
WHERE c.relkind IN ('r', 'i', 't') AND coalesce(owner.relnamespace, c.relnamespace) = 'holdfast'::regnamespace
  AND coalesce(owner.relname, c.relname) <> 'delta'
"""


async def traffic(stage: Stage) -> list[Figure]:
    """Round trips and statements of the worker, counted by a proxy on its connections."""
    folder = stage.folder / "wire"
    folder.mkdir()
    url, tally = await stage.processes.enter_async_context(counted(stage.endpoints.postgres_url, folder))
    side = await sides.ours(stage, sides.project(stage, "counted"), "counted", postgres_url=url)
    (played,) = await play(stage, side, steps=_STEPS)
    lasting, passing = steps(played, tally, deltas=False), steps(played, tally, deltas=True)
    return [
        Figure("PostgreSQL round trips per step", _trips(lasting), None, ROUND_TRIPS),
        Figure("PostgreSQL round trips per step, of deltas", _trips(passing)),
        Figure("PostgreSQL transactions per step", median(map(len, lasting))),
        Figure("PostgreSQL statements per step", median(sum(len(t.statements) for t in step) for step in lasting)),
    ]


async def growing(stage: Stage, ours: Ours, steps: int) -> tuple[Conversation, Figure]:
    """One long session, and the bytes that it leaves per step."""
    before = await stored(stage)
    (long,) = await play(stage, ours, steps=steps)
    left = (await stored(stage) - before) / steps
    return long, Figure("PostgreSQL bytes per step", left, None, BYTES, digits=0)


async def stored(stage: Stage) -> int:
    """Bytes of our tables and indexes, deltas apart."""
    async with await psycopg.AsyncConnection.connect(stage.endpoints.postgres_url) as connection:
        row = await (await connection.execute(_STORED)).fetchone()
    return int(row[0]) if row else 0


def steps(played: Conversation, tally: Tally, *, deltas: bool) -> list[list[Transaction]]:
    """The transactions of each step, which lasts from one request to the model to the next."""
    begins: Sequence[datetime] = [entry.began for entry in played.entries]
    return [[each for each in tally.between(begin, end) if each.passing is deltas] for begin, end in pairwise(begins)]


def _trips(steps: list[list[Transaction]]) -> float:
    return median(sum(each.round_trips for each in step) for step in steps)
