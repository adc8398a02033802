"""A step's cost in PostgreSQL: round trips, statements, stored bytes."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Final

import psycopg

from bench import systems
from bench.counting_proxy import Transaction, TransactionLog, counting_proxy
from bench.figure_table import Budget, Figure
from bench.systems import HoldfastSystem, PlayedSession, play
from bench.testbed import Testbed

ROUND_TRIPS: Final = Budget(must=8, aim=5)
BYTES: Final = Budget(must=8192, aim=5120)
_STEPS: Final = 16

# The main fork only: free space maps and the like come once, in blocks of their own.
_STORED: Final = """
SELECT coalesce(sum(pg_relation_size(c.oid)), 0)
FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_class owner ON owner.oid = i.indrelid OR owner.reltoastrelid = c.oid
WHERE c.relkind IN ('r', 'i', 't') AND coalesce(owner.relnamespace, c.relnamespace) = 'holdfast'::regnamespace
  AND coalesce(owner.relname, c.relname) <> 'delta'
"""


async def traffic(testbed: Testbed) -> list[Figure]:
    """The worker's round trips and statements, counted by a proxy."""
    folder = testbed.folder / "wire"
    folder.mkdir()
    url, tally = await testbed.processes.enter_async_context(counting_proxy(testbed.endpoints.postgres_url, folder))
    side = await systems.start_holdfast(testbed, systems.project(testbed, "counted"), "counted", postgres_url=url)
    (played,) = await play(testbed, side, steps=_STEPS)
    lasting, passing = steps(played, tally, deltas=False), steps(played, tally, deltas=True)
    return [
        Figure("PostgreSQL round trips per step", _trips(lasting), None, ROUND_TRIPS),
        Figure("PostgreSQL round trips per step, of deltas", _trips(passing)),
        Figure("PostgreSQL transactions per step", median(map(len, lasting))),
        Figure("PostgreSQL statements per step", median(sum(len(t.statements) for t in step) for step in lasting)),
    ]


async def growing(testbed: Testbed, ours: HoldfastSystem, steps: int) -> tuple[PlayedSession, Figure]:
    """A long session, and the stored bytes per step."""
    before = await stored(testbed)
    (long,) = await play(testbed, ours, steps=steps)
    left = (await stored(testbed) - before) / steps
    return long, Figure("PostgreSQL bytes per step", left, None, BYTES, digits=0)


async def stored(testbed: Testbed) -> int:
    """Bytes of our tables and indexes, without deltas."""
    async with await psycopg.AsyncConnection.connect(testbed.endpoints.postgres_url) as connection:
        row = await (await connection.execute(_STORED)).fetchone()
    return int(row[0]) if row else 0


def steps(played: PlayedSession, tally: TransactionLog, *, deltas: bool) -> list[list[Transaction]]:
    """The transactions of each step, from one model request to the next."""
    begins: Sequence[datetime] = [entry.began for entry in played.entries]
    return [[each for each in tally.between(begin, end) if each.passing is deltas] for begin, end in pairwise(begins)]


def _trips(steps: list[list[Transaction]]) -> float:
    return median(sum(each.round_trips for each in step) for step in steps)
