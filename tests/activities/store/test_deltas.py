"""Deltas: written for whoever watches, and nobody is held up by looking."""

from contextlib import aclosing

from activities.store import deltas, events
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.store.journal import WORKER, journal
from workflows.domain.ids import SessionId


async def test_a_session_is_watched_while_somebody_follows_its_log(database: Database, session: SessionId) -> None:
    async with aclosing(events.woken(database, session, at_least_every=60)) as ticks:
        await anext(ticks)
        assert await deltas.watched(database, session)
        assert not await deltas.watched(database, SessionId("ses_other"))


async def test_a_look_is_remembered_and_may_be_brought_along(database: Database, session: SessionId) -> None:
    assert not await Watchers(database, session).there()
    assert await Watchers(database, session, there=True).there()


async def test_who_looks_for_watchers_in_a_long_transaction_keeps_nobody_from_watching(
    database: Database, session: SessionId
) -> None:
    async with (
        journal(database, session, WORKER) as opened,
        aclosing(events.woken(database, session, at_least_every=0.01)) as ticks,
    ):
        assert not await deltas.watched(opened, session)
        await anext(ticks)
        await anext(ticks)


async def test_pieces_come_in_their_order_from_a_number_on(database: Database, session: SessionId) -> None:
    await deltas.keep(database, session, "msg_1", "1-1-1", [{"text": "one"}, {"text": "two"}])
    first, second = await deltas.since(database, session, 0)
    assert [each.body for each in (first, second)] == [{"text": "one"}, {"text": "two"}]
    assert await deltas.since(database, session, first.id) == [second]
    assert await deltas.newest(database, session) == second.id
