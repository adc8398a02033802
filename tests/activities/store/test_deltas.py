"""Deltas: written for watchers, and delayed by none."""

from contextlib import aclosing

from activities.store import deltas, events
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.store.journal import WORKER, session_journal
from tests.watch_progress import read_all, read_nothing
from workflows.domain.ids import SessionId


async def test_a_session_is_watched_while_its_log_is_followed(database: Database, session: SessionId) -> None:
    async with aclosing(events.ticks(database, session, read_all(session))) as ticks:
        await anext(ticks)
        assert await deltas.is_watched(database, session)
        assert not await deltas.is_watched(database, SessionId("ses_other"))


async def test_a_known_answer_is_reused(database: Database, session: SessionId) -> None:
    assert not await Watchers(database, session).present()
    assert await Watchers(database, session, present=True).present()


async def test_looking_for_watchers_in_a_long_transaction_does_not_prevent_watching(
    database: Database, session: SessionId
) -> None:
    async with (
        session_journal(database, session, WORKER) as journal,
        aclosing(events.ticks(database, session, read_nothing(session))) as ticks,
    ):
        assert not await deltas.is_watched(journal, session)
        await anext(ticks)
        await anext(ticks)


async def test_pieces_are_read_in_order_after_an_id(database: Database, session: SessionId) -> None:
    await deltas.publish(database, session, "msg_1", "1-1-1", [{"text": "one"}, {"text": "two"}])
    first, second = await deltas.since(database, session, 0)
    assert [each.body for each in (first, second)] == [{"text": "one"}, {"text": "two"}]
    assert await deltas.since(database, session, first.id) == [second]
    assert await deltas.newest_id(database, session) == second.id
