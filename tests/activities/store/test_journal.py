"""The journal: events in order, gap-free, by the newest epoch only."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import datetime

import pytest
from psycopg.types.json import Json

from activities.store import events, sessions
from activities.store.database import Database
from activities.store.journal import KNOWN_LOG, WORKER, KnownLog, SessionVersion, session_journal
from activities.store.queries import Queries
from tests.activities.store.conftest import ACTOR
from tests.polling import WAIT_TIMEOUT
from workflows.domain.errors import DatabaseBehind, NotFound, StaleFence, UnknownEpoch, VersionConflict
from workflows.domain.events.sessions import SessionEnded
from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import SessionId
from workflows.domain.views.sessions import ArchiveLocation

ARCHIVES = Queries("archives")


async def write(
    database: Database, session: SessionId, reason: str, epoch: int | None = None, needs_newest: bool = True
) -> None:
    async with session_journal(database, session, ACTOR, epoch=epoch, needs_newest=needs_newest) as journal:
        await journal.locked()
        journal.record(SessionEnded(reason=reason))


async def seqs(database: Database, session: SessionId) -> list[int]:
    return [record.seq async for record in events.after(database, session)]


async def test_events_of_concurrent_writers_are_numbered_without_a_gap(database: Database, session: SessionId) -> None:
    await asyncio.gather(*(write(database, session, str(number)) for number in range(20)))
    assert await seqs(database, session) == list(range(1, 22))
    assert (await events.verify(database, session)).problem is None


async def test_a_transaction_that_fails_leaves_no_hole(database: Database, session: SessionId) -> None:
    with pytest.raises(RuntimeError):
        async with session_journal(database, session, ACTOR) as journal:
            await journal.locked()
            journal.record(SessionEnded(reason="never"))
            raise RuntimeError
    await write(database, session, "later")
    assert await seqs(database, session) == [1, 2]


async def load(database: Database, session: SessionId) -> int:
    """Give out an epoch, as a load does."""
    async with session_journal(database, session, ACTOR, epoch=0, needs_newest=False) as journal:
        await journal.locked()
        return journal.give_out_epoch()


async def test_what_begins_something_needs_the_newest_epoch(database: Database, session: SessionId) -> None:
    first = await load(database, session)
    await write(database, session, "first", epoch=first)
    second = await load(database, session)
    with pytest.raises(StaleFence, match="later epoch"):
        await write(database, session, "zombie", epoch=first)
    await write(database, session, "second", epoch=second)
    assert (first, second, len(await seqs(database, session))) == (1, 2, 3)


async def test_what_finishes_something_may_be_of_an_earlier_epoch(database: Database, session: SessionId) -> None:
    first = await load(database, session)
    await load(database, session)
    await write(database, session, "finished", epoch=first, needs_newest=False)
    assert len(await seqs(database, session)) == 2


@pytest.mark.parametrize("needs_newest", [True, False])
@pytest.mark.parametrize("ahead", [1, 2**62, 2**80])
async def test_an_epoch_that_was_not_given_out_is_refused(
    database: Database, session: SessionId, ahead: int, needs_newest: bool
) -> None:
    newest = await load(database, session)
    with pytest.raises(UnknownEpoch, match=r"given out no epoch \d+: its newest is 1"):
        await write(database, session, "never", epoch=newest + ahead, needs_newest=needs_newest)
    await write(database, session, "goes on", epoch=newest)
    assert await seqs(database, session) == [1, 2]


@pytest.mark.parametrize("seen", [LogPosition(9, "00000000"), LogPosition(2, "00000000")])
async def test_an_activity_that_has_seen_what_the_log_does_not_have_is_refused(
    database: Database, session: SessionId, seen: LogPosition
) -> None:
    epoch = await load(database, session)
    await write(database, session, "another event than was seen under this number")
    KNOWN_LOG.set(KnownLog(session, seen))
    for needs_newest in (True, False):
        with pytest.raises(DatabaseBehind, match=f"ends at event 2, and lacks event {seen.seq}"):
            await write(database, session, "never", epoch=epoch, needs_newest=needs_newest)
    await write(database, session, "of no activity")
    KNOWN_LOG.set(KnownLog(SessionId("ses_x"), seen))
    await write(database, session, "of another session's activity", epoch=epoch)
    assert await seqs(database, session) == [1, 2, 3, 4]


async def test_an_activity_knows_of_what_it_has_committed_or_read(database: Database, session: SessionId) -> None:
    epoch = await load(database, session)
    known = KnownLog(session, LogPosition())
    KNOWN_LOG.set(known)
    with pytest.raises(RuntimeError):
        async with session_journal(database, session, ACTOR, epoch=epoch) as journal:
            await journal.locked()
            raise RuntimeError
    assert known.newest == LogPosition()
    await write(database, session, "first", epoch=epoch)
    first = known.newest
    await write(database, session, "of a door")
    async with session_journal(database, session, ACTOR, epoch=epoch) as journal:
        await journal.locked()
    assert (first.seq, known.newest) == (2, LogPosition.of(3, journal.version.head))


async def test_an_optimistic_write_finds_a_log_of_equal_length_that_was_put_back(
    database: Database, session: SessionId
) -> None:
    epoch = await load(database, session)
    await write(database, session, "first", epoch=epoch)
    async with session_journal(database, session, ACTOR, epoch=epoch) as journal:
        await journal.locked()
    lost = replace(journal.version, head=bytes(32))
    with pytest.raises(VersionConflict):
        async with session_journal(database, session, ACTOR, epoch=epoch, seen=lost) as journal:
            journal.record(SessionEnded(reason="never"))


async def test_only_what_activities_append_is_movement(database: Database, session: SessionId) -> None:
    moved = [await moved_at(database, session)]
    epoch = await load(database, session)
    moved.append(await moved_at(database, session))
    await write(database, session, "of a door")
    moved.append(await moved_at(database, session))
    await write(database, session, "of an activity", epoch=epoch)
    moved.append(await moved_at(database, session))
    assert moved[0] == moved[1] == moved[2] < moved[3]


async def moved_at(database: Database, session: SessionId) -> datetime:
    (row,) = await database.rows(b"SELECT moved_at FROM session_head WHERE session = %(session)s", session=session)
    found: datetime = row["moved_at"]
    return found


async def test_a_session_that_does_not_exist_is_named(database: Database) -> None:
    with pytest.raises(NotFound, match="There is no session 'ses_x'"):
        async with session_journal(database, SessionId("ses_x"), WORKER):
            pass


async def test_an_event_updates_only_the_head_and_no_index(database: Database, session: SessionId) -> None:
    for number in range(20):
        await write(database, session, str(number))
    async with asyncio.timeout(WAIT_TIMEOUT):
        while (await updates(database))["session_head", "all"] < 21:  # counted once a second at most
            await database.rows(b"SELECT pg_stat_force_next_flush()")
    assert await updates(database) == {("session_head", "all"): 21, ("session_head", "HOT"): 21}


async def updates(database: Database) -> Counter[tuple[str, str]]:
    """How often rows of sessions were updated, by table."""
    rows = await database.rows(b"SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables")
    found: Counter[tuple[str, str]] = Counter()
    for table, every, hot in (row.values() for row in rows):
        found += Counter({(table, "all"): every, (table, "HOT"): hot})
    return found


async def test_a_transaction_that_waited_for_the_lock_sees_what_the_one_before_it_wrote(
    database: Database, session: SessionId
) -> None:
    async with session_journal(database, session, ACTOR) as first:
        await sessions.end(first, "over")
        waiting = asyncio.create_task(status(database, session))
        await lock_awaited(database)
    assert await waiting == "ended"


async def test_a_transaction_that_expects_a_version_is_refused_once_the_session_is_archived(
    database: Database, session: SessionId
) -> None:
    async with session_journal(database, session, ACTOR, epoch=0) as journal:
        await journal.locked()
    archived = ArchiveLocation(file="x", sha256="", at=await database.now())
    async with database.statements() as batch:
        values = {"sessions": [session]}
        await batch.rows(ARCHIVES.lock, **values)
        waiting = asyncio.create_task(write_as_seen(database, session, journal.version_after))
        await lock_awaited(database)
        batch.write(ARCHIVES.mark_archived, archive=Json(archived.model_dump(mode="json")), **values)
    with pytest.raises(VersionConflict):
        await waiting


async def status(database: Database, session: SessionId) -> str:
    async with session_journal(database, session, ACTOR) as journal:
        await journal.locked()
    return journal.version.status


async def write_as_seen(database: Database, session: SessionId, seen: SessionVersion) -> None:
    async with session_journal(database, session, ACTOR, epoch=seen.epoch, seen=seen) as journal:
        journal.record(SessionEnded(reason="never"))


async def lock_awaited(database: Database) -> None:
    """Wait until a transaction of this database waits for another."""
    query = b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not await database.rows(query):
            await asyncio.sleep(0.01)
