"""What watchers of quiet sessions ask the database."""

import asyncio
from datetime import UTC, datetime
from typing import Final

from activities.cancellation import cancel_and_wait
from activities.new_ids import new_id
from activities.store import sessions
from activities.store.database import Database
from activities.store.journal import WORKER
from activities.store.sessions import NewSession
from bench.counting_proxy import counting_proxy
from bench.figure_table import Figure
from bench.testbed import Testbed
from worker.session_watcher import SessionWatcher
from workflows.domain.ids import Prefix, SessionId

WATCHERS: Final = 500
_SETTLED: Final = 5.0  # seconds until the last one waits
_SECONDS: Final = 20.0


async def measure_watchers(testbed: Testbed) -> list[Figure]:
    """Statements per second of one process, each of whose watchers follows a session of its own."""
    async with (
        counting_proxy(testbed.endpoints.postgres_url, testbed.folder) as (url, log),
        Database(url) as database,
    ):
        watching = [asyncio.create_task(_watch(database, await _session(database))) for _ in range(WATCHERS)]
        await asyncio.sleep(_SETTLED)
        begin = datetime.now(UTC)
        await asyncio.sleep(_SECONDS)
        statements = sum(len(each.statements) for each in log.between(begin, datetime.now(UTC)))
        await cancel_and_wait(*watching)
    return [Figure(f"queries/s of {WATCHERS} watchers of quiet sessions", statements / _SECONDS)]


async def _session(database: Database) -> SessionId:
    new = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory="/", title="watched")
    await sessions.create(database, new, WORKER)
    return new.id


async def _watch(database: Database, session: SessionId) -> None:
    async for _ in SessionWatcher(database, session).stream():
        pass
