"""The journal: events in order, gap-free, by the newest chain only."""

import asyncio

import pytest

from activities.store import events
from activities.store.database import Database
from activities.store.journal import WORKER, journal
from tests.activities.store.conftest import ACTOR
from tests.patience import PATIENCE
from workflows.domain.errors import NotFound, StaleFence
from workflows.domain.events import SessionEnded
from workflows.domain.ids import SessionId


async def write(database: Database, session: SessionId, reason: str, chain_start: int | None = None) -> None:
    async with journal(database, session, ACTOR, chain_start=chain_start) as opened:
        await opened.locked()
        opened.record(SessionEnded(reason=reason))


async def seqs(database: Database, session: SessionId) -> list[int]:
    return [record.seq async for record in events.after(database, session)]


async def test_events_of_writers_at_once_are_numbered_without_a_gap(database: Database, session: SessionId) -> None:
    await asyncio.gather(*(write(database, session, str(number)) for number in range(20)))
    assert await seqs(database, session) == list(range(1, 22))
    assert (await events.verify(database, session)).problem is None


async def test_a_transaction_that_fails_leaves_no_hole(database: Database, session: SessionId) -> None:
    with pytest.raises(RuntimeError):
        async with journal(database, session, ACTOR) as opened:
            await opened.locked()
            opened.record(SessionEnded(reason="never"))
            raise RuntimeError
    await write(database, session, "later")
    assert await seqs(database, session) == [1, 2]


async def test_an_earlier_chain_is_refused_and_a_later_one_takes_over(database: Database, session: SessionId) -> None:
    await write(database, session, "first chain", chain_start=100)
    await write(database, session, "second chain", chain_start=200)
    with pytest.raises(StaleFence, match="later chain"):
        await write(database, session, "zombie", chain_start=100)
    assert len(await seqs(database, session)) == 3


async def test_a_chain_that_begins_in_the_future_is_refused_and_takes_nothing_over(
    database: Database, session: SessionId, caplog: pytest.LogCaptureFixture
) -> None:
    ((now,),) = [
        row.values() for row in await database.rows(b"SELECT (extract(epoch FROM now()) * 1000000)::bigint AS n")
    ]
    await write(database, session, "an engine whose clock is a little ahead", chain_start=now + 30_000_000)
    for absurd in (now + 120_000_000, 2**62, 2**80):
        with pytest.raises(StaleFence, match="a chain that begins later than now"):
            await write(database, session, "never", chain_start=absurd)
    await write(database, session, "the next chain", chain_start=now + 31_000_000)
    assert await seqs(database, session) == [1, 2, 3] and "clocks of Temporal and PostgreSQL" in caplog.text


async def test_a_chain_that_runs_goes_on_where_the_databases_clock_is_behind_its_beginning(
    database: Database, session: SessionId
) -> None:
    (row,) = await database.rows(b"SELECT (extract(epoch FROM now() + interval '1 hour') * 1000000)::bigint AS began")
    await database.rows(b"UPDATE session SET chain = %(began)s WHERE id = %(session)s", session=session, **row)
    await write(database, session, "after a failover", chain_start=row["began"])
    assert await seqs(database, session) == [1, 2]


async def test_a_session_that_does_not_exist_is_named(database: Database) -> None:
    with pytest.raises(NotFound, match="There is no session 'ses_x'"):
        async with journal(database, SessionId("ses_x"), WORKER):
            pass


async def test_events_change_their_session_where_it_stands_and_no_index(database: Database, session: SessionId) -> None:
    for number in range(20):
        await write(database, session, str(number))
    query = b"SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'session'"
    async with asyncio.timeout(PATIENCE):
        while (found := (await database.rows(query))[0])["all"] < 20:  # counted once a second at most
            await database.rows(b"SELECT pg_stat_force_next_flush()")
    assert found["hot"] >= 20
