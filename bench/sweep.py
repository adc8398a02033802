"""The statements of a sweep, which runs every three seconds, beside many sessions that rest or wait."""

import asyncio
from statistics import median
from typing import Any, Final

from psycopg import AsyncConnection, Rollback
from psycopg.rows import TupleRow

from activities.store.database import Database
from activities.store.queries import Queries
from bench.figure_table import Budget, Figure
from bench.testbed import Testbed

RESTING: Final = 100_000  # sessions whose last turn has ended
WAITING: Final = 1_000  # of them with a turn that waits for an answer
QUICK: Final = Budget(must=10, aim=5)  # milliseconds
_ROUNDS: Final = 9
_LIMIT: Final = 600.0  # seconds to write the sessions
_SEED: Final = (
    "INSERT INTO turn_config (id, body) VALUES ('bench', '{}') ON CONFLICT DO NOTHING",
    """INSERT INTO session (id, directory, title, agent, began_as, environment)
    SELECT 'bench_' || n, '/', '', 'build', 'build', '{}' FROM generate_series(1, %(resting)s) AS n""",
    """INSERT INTO session_head (session, head, moved_at)
    SELECT 'bench_' || n, '', now() - interval '1 hour' FROM generate_series(1, %(resting)s) AS n""",
    """INSERT INTO turn (id, session, number, turn_config, agent, model, step, state)
    SELECT 'bench_' || n, 'bench_' || n, 1, 'bench', '', '', 1, CASE WHEN n <= %(waiting)s THEN 'open' ELSE 'ended' END
    FROM generate_series(1, %(resting)s) AS n""",
    """INSERT INTO work (id, session, kind, accepted_seq, author, state, turn)
    SELECT 'bench_' || n, 'bench_' || n, 'prompt', 1, '', 'taken', 'bench_' || n
    FROM generate_series(1, %(resting)s) AS n""",
    "ALTER TABLE call DROP CONSTRAINT call_turn_step_fkey",  # rolled back with the rest
    """INSERT INTO call (id, session, turn, step, position, message, provider_id, tool, arguments, salt, recovery,
                         loop_digest, display)
    SELECT 'bench_' || n, 'bench_' || n, 'bench_' || n, 1, 0, '', '', 'write', '{}', '', 'once', '', '{}'
    FROM generate_series(1, %(waiting)s) AS n""",
    """INSERT INTO ask (id, session, turn, call, revision, requests, kind, body, digest)
    SELECT 'bench_' || n, 'bench_' || n, 'bench_' || n, 'bench_' || n, 0, '{0}', 'permission', '{}', ''
    FROM generate_series(1, %(waiting)s) AS n""",
    "ANALYZE session, session_head, turn, work, call, ask",
)
_STATEMENTS: Final[dict[str, tuple[bytes, dict[str, Any]]]] = {
    "signals that are overdue": (Queries("outbox").overdue, {}),
    "sessions that are due": (Queries("reconcile").due, {"quiet": 30.0}),
    "sessions no longer stuck": (Queries("reconcile").clear_stuck, {"quiet": 30.0}),
}


async def measure_sweep(testbed: Testbed) -> list[Figure]:
    """Milliseconds of each statement, in a transaction that leaves nothing behind."""
    figures: list[Figure] = []
    async with (
        Database(testbed.endpoints.postgres_url) as database,
        database.transaction(limit=_LIMIT) as connection,
    ):
        await seed(connection, RESTING, WAITING)
        for name, (query, values) in _STATEMENTS.items():
            took = await _milliseconds(connection, query, values)
            figures.append(Figure(f"ms to find {name}, of {RESTING:,}, {WAITING:,} of which ask", took, None, QUICK))
        raise Rollback
    return figures


async def seed(connection: AsyncConnection[TupleRow], resting: int, waiting: int) -> None:
    """Write sessions that rest, the first of which wait for an answer; to be rolled back."""
    for statement in _SEED:
        values = {"resting": resting, "waiting": waiting} if "%(" in statement else None
        await connection.execute(statement.encode(), values)


async def _milliseconds(connection: AsyncConnection[TupleRow], query: bytes, values: dict[str, Any]) -> float:
    clock = asyncio.get_running_loop().time
    took = []
    for _ in range(_ROUNDS):
        began = clock()
        await connection.execute(query, values)
        took.append((clock() - began) * 1000)
    return median(took)
