"""The journal: events in order, gap-free, by the newest epoch only."""

import asyncio
from collections import Counter

import pytest
from psycopg.types.json import Json

from activities.store import events, sessions
from activities.store.database import Database
from activities.store.journal import WORKER, Place, session_journal
from activities.store.outages import Moved
from activities.store.queries import Queries
from tests.activities.store.conftest import ACTOR
from tests.polling import WAIT_TIMEOUT
from workflows.domain.archive_location import ArchiveLocation
from workflows.domain.errors import NotFound, StaleFence
from workflows.domain.events.sessions import SessionEnded
from workflows.domain.ids import SessionId

ARCHIVES = Queries("archives")


async def write(database: Database, session: SessionId, reason: str, epoch: int | None = None) -> None:
    async with session_journal(database, session, ACTOR, epoch=epoch) as journal:
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


async def test_an_earlier_epoch_is_refused_and_a_later_one_takes_over(database: Database, session: SessionId) -> None:
    await write(database, session, "first chain", epoch=100)
    await write(database, session, "second chain", epoch=200)
    with pytest.raises(StaleFence, match="later epoch"):
        await write(database, session, "zombie", epoch=100)
    assert len(await seqs(database, session)) == 3


async def test_an_epoch_that_begins_in_the_future_is_refused_and_takes_nothing_over(
    database: Database, session: SessionId, caplog: pytest.LogCaptureFixture
) -> None:
    ((now,),) = [
        row.values() for row in await database.rows(b"SELECT (extract(epoch FROM now()) * 1000000)::bigint AS n")
    ]
    await write(database, session, "an engine whose clock is a little ahead", epoch=now + 30_000_000)
    for absurd in (now + 120_000_000, 2**62, 2**80):
        with pytest.raises(StaleFence, match="an epoch that begins in the future"):
            await write(database, session, "never", epoch=absurd)
    await write(database, session, "the next chain", epoch=now + 31_000_000)
    assert await seqs(database, session) == [1, 2, 3] and "clocks of Temporal and PostgreSQL" in caplog.text


async def test_an_epoch_goes_on_when_the_databases_clock_is_behind_its_beginning(
    database: Database, session: SessionId
) -> None:
    (row,) = await database.rows(b"SELECT (extract(epoch FROM now() + interval '1 hour') * 1000000)::bigint AS began")
    await database.rows(b"UPDATE session_head SET epoch = %(began)s", **row)
    await write(database, session, "after a failover", epoch=row["began"])
    assert await seqs(database, session) == [1, 2]


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
    async with session_journal(database, session, ACTOR, epoch=1) as journal:
        await journal.locked()
    archived = ArchiveLocation(file="x", sha256="", at=await database.now())
    async with database.statements() as batch:
        values = {"sessions": [session]}
        await batch.rows(ARCHIVES.lock, **values)
        waiting = asyncio.create_task(write_held(database, session, journal.left))
        await lock_awaited(database)
        batch.write(ARCHIVES.mark_archived, archive=Json(archived.model_dump(mode="json")), **values)
    with pytest.raises(Moved):
        await waiting


async def status(database: Database, session: SessionId) -> str:
    async with session_journal(database, session, ACTOR) as journal:
        await journal.locked()
    return journal.place.status


async def write_held(database: Database, session: SessionId, held: Place) -> None:
    async with session_journal(database, session, ACTOR, epoch=held.epoch, held=held) as journal:
        journal.record(SessionEnded(reason="never"))


async def lock_awaited(database: Database) -> None:
    """Wait until a transaction of this database waits for another."""
    query = b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not await database.rows(query):
            await asyncio.sleep(0.01)
