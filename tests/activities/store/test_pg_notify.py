"""Notifications: only for followed sessions, after the commit, in batches."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from activities.store import deltas, events, sessions
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, session_journal
from activities.store.pg_notify import ALL_SESSIONS, CHANNEL, NotifySender
from activities.store.sessions import NewSession
from bench.counting_proxy import counting_proxy
from tests.polling import WAIT_TIMEOUT
from tests.watch_progress import read_all
from workflows.domain.errors import Unavailable
from workflows.domain.events.sessions import SessionEnded
from workflows.domain.ids import SessionId


async def write(database: Database, session: SessionId) -> None:
    async with session_journal(database, session, WORKER) as journal:
        await journal.locked()
        journal.record(SessionEnded(reason="done"))


async def test_a_commit_without_followers_takes_no_lock_of_the_database(
    postgres_url: str, session: SessionId, tmp_path: Path
) -> None:
    async with counting_proxy(postgres_url, tmp_path) as (url, tally), Database(url) as database:
        await write(database, session)
    assert len(tally.transactions) == 1
    assert not any("pg_notify" in statement for statement in tally.transactions[0].statements)


async def test_a_commit_with_followers_is_notified_after_it_without_another_query(
    database: Database, postgres_url: str, session: SessionId, tmp_path: Path
) -> None:
    async with aclosing(events.ticks(database, session, read_all(session))) as ticks:
        await anext(ticks)
        async with counting_proxy(postgres_url, tmp_path) as (url, tally), Database(url) as other:
            await write(other, session)
        await anext(ticks)
    written, told = tally.transactions
    assert written.statements[-1] == "COMMIT" and written.round_trips == 2
    assert not any("pg_notify" in statement for statement in written.statements)
    assert ["pg_notify" in statement for statement in told.statements] == [True]


async def test_subagents_that_are_followed_with_their_session_wake_its_watcher(
    database: Database, session: SessionId
) -> None:
    child = SessionId("ses_child")
    await sessions.create(database, NewSession(id=child, directory="/", title="", agent="build", model=None), WORKER)
    followed: set[SessionId] = set()
    async with aclosing(events.ticks(database, session, read_all(session, more=followed))) as ticks:
        await anext(ticks)
        followed.add(child)
        await anext(ticks)  # it is read at once, and heard of from then on
        assert await noticed(database, child)
        await anext(ticks)
        assert not await deltas.is_watched(database, child)
        followed.clear()
        await write(database, session)
        await anext(ticks)
        async with asyncio.timeout(WAIT_TIMEOUT):
            while await noticed(database, child):
                pass


async def test_a_follower_of_all_sessions_is_notified_of_new_ones_too_and_watches_none(
    database: Database, postgres_url: str, session: SessionId, tmp_path: Path
) -> None:
    assert not await noticed(database, session)
    new = SessionId("ses_new")
    async with aclosing(events.ticks(database, ALL_SESSIONS, read_all(session, new))) as ticks:
        assert await anext(ticks) == {ALL_SESSIONS}
        await write(database, session)
        assert await anext(ticks) == {session}
        async with counting_proxy(postgres_url, tmp_path) as (url, tally), Database(url) as other:
            await sessions.create(other, NewSession(id=new, directory="/", title="", agent="build", model=None), WORKER)
            assert await anext(ticks) == {new}
            await write(other, new)
        assert await anext(ticks) == {new}
        assert not await deltas.is_watched(database, session)
    written = [each for each in tally.transactions if each.statements[-1] == "COMMIT"]
    assert written[-1].round_trips == 2  # none more than without it
    async with asyncio.timeout(WAIT_TIMEOUT):
        while await noticed(database, session):
            pass


async def test_a_commit_under_way_keeps_no_follower_of_all_sessions_waiting(
    database: Database, session: SessionId
) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT), database.statements() as batch:
        journal = Journal(batch, database.turn_configs, session, WORKER)
        await journal.locked()
        journal.record(SessionEnded(reason="done"))
        journal.append()
        await batch.rows(b"SELECT 1")
        assert journal.followed == []
        async with aclosing(events.ticks(database, ALL_SESSIONS, read_all())) as ticks:
            await anext(ticks)


async def noticed(database: Database, session: SessionId) -> bool:
    """Whether a write now is notified."""
    async with database.listen(CHANNEL) as connection:
        await write(database, session)
        return [each.payload async for each in connection.notifies(timeout=0.5, stop_after=1)] == [session]


class Sender:
    """Takes what is sent, in order."""

    def __init__(self, *failures: Exception) -> None:
        self.sent: list[list[str]] = []
        self.failures = list(failures)

    async def __call__(self, names: list[SessionId]) -> None:
        await asyncio.sleep(0.01)
        self.sent.append(list(names))
        if self.failures:
            raise self.failures.pop()


@pytest.mark.parametrize("failures", [(), (Unavailable("gone"),)])
async def test_notifications_added_during_a_send_are_sent_together(failures: tuple[Exception, ...]) -> None:
    sender = Sender(*failures)
    notifications = NotifySender(sender)
    notifications.add([SessionId("a")])
    await asyncio.sleep(0.001)
    for name in ("b", "c", "b"):
        notifications.add([SessionId(name)])
    await notifications.close()
    assert sender.sent == [["a"], ["b", "c"]]
