"""The notification hub: one connection for all watchers of a process, with counted locks per session."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from activities.store import deltas, events
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from activities.store.notification_hub import POLL_INTERVAL, WatchProgress
from activities.store.pg_notify import ALL_SESSIONS, FOLLOWER_LOCK_CLASS, WATCHER_LOCK_CLASS
from bench.counting_proxy import counting_proxy
from tests.polling import WAIT_TIMEOUT
from tests.watch_progress import read_all
from workflows.domain.errors import Unavailable
from workflows.domain.events.sessions import SessionEnded
from workflows.domain.ids import SessionId

WATCHERS = 500
CUT = b"""SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND classid = %(watchers)s AND d.datname = current_database()"""
LOCKS = b"""SELECT classid::bigint AS class, count(*)::int AS count FROM pg_locks
    JOIN pg_database d ON d.oid = database AND d.datname = current_database()
    WHERE locktype = 'advisory' AND classid = ANY(%(classes)s) GROUP BY classid"""
MISSED_EVENT = b"UPDATE session_head SET seq = seq + 1 WHERE session = %(session)s"
EARLIER_EVENT = b"""UPDATE session_head SET seq = seq + 1, updated_at = now() - interval '1 hour'
    WHERE session = %(session)s"""
MISSED_DELTA = b"INSERT INTO delta (session, source, attempt, body) VALUES (%(session)s, 'msg_1', '1-1-1', '{}')"
CONNECTIONS = b"""SELECT pid, backend_start FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'"""


@asynccontextmanager
async def watched(
    database: Database, session: SessionId, progress: Callable[[], WatchProgress] | None = None
) -> AsyncIterator[asyncio.Queue[None]]:
    """A watcher during the block, registered at its start, with its wake-ups."""
    woken: asyncio.Queue[None] = asyncio.Queue()

    async def watch() -> None:
        async for _ in events.ticks(database, session, progress or read_all(session)):
            woken.put_nowait(None)

    task = asyncio.create_task(watch())
    await woken.get()
    try:
        yield woken
    finally:
        task.cancel()
        await asyncio.wait([task])


async def locks(database: Database) -> dict[int, int]:
    rows = await database.rows(LOCKS, classes=[WATCHER_LOCK_CLASS, FOLLOWER_LOCK_CLASS])
    return {row["class"]: row["count"] for row in rows}


async def connections(database: Database) -> set[tuple[int, datetime]]:
    """Those that are there: of a closed one the server may still be taking leave, and its own processes come and go."""
    return {(row["pid"], row["backend_start"]) for row in await database.rows(CONNECTIONS)}


async def test_500_watchers_of_a_process_hold_one_connection(
    database: Database, postgres_url: str, session: SessionId
) -> None:
    async with Database(postgres_url, size=1) as own, AsyncExitStack() as stack, asyncio.timeout(WAIT_TIMEOUT):
        await own.now()
        before = await connections(database)
        woken = [await stack.enter_async_context(watched(own, session)) for _ in range(WATCHERS)]
        assert len(await connections(database) - before) == 1
        assert await locks(database) == {WATCHER_LOCK_CLASS: 1, FOLLOWER_LOCK_CLASS: 1}
        async with session_journal(database, session, WORKER) as journal:
            await journal.locked()
            journal.record(SessionEnded(reason="done"))
        await asyncio.gather(*(each.get() for each in woken))


async def test_a_session_is_watched_until_its_last_watcher_has_left(
    database: Database, postgres_url: str, session: SessionId
) -> None:
    async with Database(postgres_url) as own, asyncio.timeout(WAIT_TIMEOUT):
        async with watched(own, SessionId("ses_other")):
            async with watched(own, session), watched(own, session):
                pass
            while await deltas.is_watched(database, session):
                await asyncio.sleep(0.01)
            assert await locks(database) == {WATCHER_LOCK_CLASS: 1, FOLLOWER_LOCK_CLASS: 1}
        while await locks(database):
            await asyncio.sleep(0.01)
        async with watched(own, session):  # after the connection was closed
            assert await deltas.is_watched(database, session)


async def test_a_lost_connection_is_an_outage_for_each_watcher_and_opened_again(
    database: Database, postgres_url: str, session: SessionId
) -> None:
    async def lose() -> None:
        async for _ in events.ticks(own, session, read_all(session)):
            listening.release()

    async with Database(postgres_url) as own, asyncio.timeout(WAIT_TIMEOUT):
        listening = asyncio.Semaphore(0)
        losing = [asyncio.create_task(lose()) for _ in range(2)]
        for _ in losing:
            await listening.acquire()
        assert len(await database.rows(CUT, watchers=WATCHER_LOCK_CLASS)) == 1
        for each in losing:
            with pytest.raises(Unavailable):
                await each
        async with watched(own, session):
            assert await deltas.is_watched(database, session)


@pytest.mark.parametrize("missed", [MISSED_EVENT, MISSED_DELTA])
async def test_a_watcher_gets_what_a_lost_notification_would_have_told(
    database: Database, postgres_url: str, session: SessionId, missed: bytes
) -> None:
    async with Database(postgres_url) as own, asyncio.timeout(WAIT_TIMEOUT):
        read = WatchProgress({session: 1}, 0)
        async with watched(own, session, lambda: read) as woken, watched(own, session) as up_to_date:
            await until_locked(database, 1)
            empty(woken, up_to_date)
            await database.rows(missed, session=session)  # which sends none
            await woken.get()
            assert up_to_date.empty()
            read = WatchProgress({session: 2}, 2**62)
            await woken.get()  # it was still behind when it waited again
            empty(woken)
            await asyncio.sleep(3 * POLL_INTERVAL)  # no event tells that nothing wakes them
            assert woken.empty() and up_to_date.empty()


async def test_a_follower_of_all_sessions_gets_what_a_lost_notification_would_have_told(
    database: Database, postgres_url: str, session: SessionId
) -> None:
    read = {session: 1}
    async with (
        Database(postgres_url) as own,
        asyncio.timeout(WAIT_TIMEOUT),
        watched(own, ALL_SESSIONS, lambda: WatchProgress(read)) as woken,
    ):
        while await locks(database) != {FOLLOWER_LOCK_CLASS: 1}:
            await asyncio.sleep(0.01)
        empty(woken)
        await database.rows(MISSED_EVENT, session=session)  # which sends none
        await woken.get()
        read[session] = 2
        empty(woken)
        await database.rows(EARLIER_EVENT, session=session)
        await asyncio.sleep(3 * POLL_INTERVAL)  # what is older is known since the begin: it is not read each second
        assert woken.empty()


async def test_500_watchers_ask_for_lost_notifications_with_one_statement_a_second(
    database: Database, postgres_url: str, tmp_path: Path
) -> None:
    async with (
        counting_proxy(postgres_url, tmp_path) as (url, tally),
        Database(url) as own,
        AsyncExitStack() as stack,
        asyncio.timeout(WAIT_TIMEOUT),
    ):
        for number in range(WATCHERS):
            await stack.enter_async_context(watched(own, SessionId(f"ses_{number}")))
        await until_locked(database, WATCHERS)
        begin = datetime.now(UTC)
        await asyncio.sleep(5 * POLL_INTERVAL)  # no event tells that nothing else is asked
        end = datetime.now(UTC)
    asked = [text for each in tally.between(begin, end) for text in each.statements]
    assert 1 <= len(asked) <= (end - begin).total_seconds() / POLL_INTERVAL + 1 and {*asked} == {asked[0]}


async def until_locked(database: Database, sessions: int) -> None:
    while await locks(database) != {WATCHER_LOCK_CLASS: sessions, FOLLOWER_LOCK_CLASS: sessions}:
        await asyncio.sleep(0.01)


def empty(*queues: asyncio.Queue[None]) -> None:
    for each in queues:
        while not each.empty():
            each.get_nowait()
