"""Watching a session with its subagents: each event once, in order, also over broken connections."""

import asyncio
from collections import Counter
from contextlib import aclosing

import pytest

from activities.store import deltas
from activities.store.pg_notify import FOLLOWER_LOCK_CLASS, WATCHER_LOCK_CLASS
from tests.harness import Harness
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from tests.workflows.conftest import open_harness as open_harness
from tests.workflows.conftest import pooler_url as pooler_url
from tests.workflows.conftest import port as port
from tests.workflows.conftest import with_sweeper as with_sweeper
from tests.workflows.delegation import DONE, FOUND, LOOK, delegates, delegation_scripts
from worker.session_watcher import SessionWatcher
from workflows.domain.events.calls import CallFinished
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import SessionId
from workflows.domain.views.events import EventWithContents

BOTH = delegation_scripts(delegates("one", "two"), DONE, one=(LOOK, FOUND), two=(FOUND,))
CUT = f"""SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND classid IN ({WATCHER_LOCK_CLASS}, {FOLLOWER_LOCK_CLASS})
    AND d.datname = current_database() AND mode = 'ShareLock'"""  # not that of a commit


FOLLOWERS = f"""SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND classid = {FOLLOWER_LOCK_CLASS} AND d.datname = current_database()
    AND mode = 'ShareLock'"""


async def told(harness: Harness, session: SessionId, after: int = 0, *, cut: bool = False) -> list[EventWithContents]:
    """A watcher's events of the session and its subagents up to the end of its turn."""
    found: list[EventWithContents] = []
    async with (
        asyncio.timeout(WAIT_TIMEOUT),
        aclosing(harness.client.records.watch(session, after, with_subagents=True)) as watched,
    ):
        async for seen in watched:
            if not isinstance(seen, EventWithContents):
                continue
            found.append(seen)
            if cut:
                async with harness.database.transaction() as connection:
                    await connection.execute(CUT.encode())
            if seen.record.session == session and seen.record.event.type == "turn.ended":
                return found
    raise AssertionError("a watch does not end")


async def there(harness: Harness, session: SessionId) -> None:
    """Wait until the session has a watcher."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not await deltas.is_watched(harness.database, session):
            await asyncio.sleep(0.01)


def in_order(found: list[EventWithContents], session: SessionId, after: int = 0) -> bool:
    numbers = [seen.record.seq for seen in found if seen.record.session == session]
    return numbers == list(range(after + 1, after + len(numbers) + 1))


async def test_subagents_are_told_of_between_their_start_and_the_end_of_their_call(open_harness: Open) -> None:
    async with open_harness(scripts=BOTH) as harness, harness.running_worker():
        session = await harness.start_session("Find both.")
        live = await told(harness, session)
        later = await told(harness, session)
        sizes = {each.id: each.seq for each in await harness.client.sessions.list_recent()}
    for found in (live, later):
        assert Counter(seen.record.session for seen in found) == sizes
        assert all(in_order(found, each) for each in sizes)
        starts = {seen.record.event.child: place for place, seen in enumerate(found) if _starts(seen)}  # type: ignore[union-attr]
        for child, begin in starts.items():
            places = [place for place, seen in enumerate(found) if seen.record.session == child]
            end = next(place for place, seen in enumerate(found) if place > places[-1] and _finishes(seen))
            assert begin < places[0] <= places[-1] < end


async def test_who_comes_back_to_a_session_is_told_of_its_subagents_from_then_on(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("one"), DONE, one=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        await harness.until(session, lambda event: event.type == "task.started")
        (child,) = (await harness.client.sessions.tree(session))[1:]
        (ask,) = await harness.wait_for_asks(child)
        seen_before = (await harness.client.sessions.get(session)).seq, (await harness.client.sessions.get(child)).seq
        watching = asyncio.create_task(told(harness, session, seen_before[0]))
        await there(harness, session)  # what happens before is not told
        await harness.answer(ask)
        found = await watching
        size = (await harness.client.sessions.get(child)).seq
    below = [seen.record.seq for seen in found if seen.record.session == child]
    assert in_order(found, session, seen_before[0])
    assert below and below == list(range(below[0], size + 1)) and below[0] > seen_before[1]


async def test_a_connection_that_breaks_after_each_event_loses_and_doubles_nothing(open_harness: Open) -> None:
    async with open_harness(scripts=BOTH) as harness, harness.running_worker():
        session = await harness.start_session("Find both.")
        found = await told(harness, session, cut=True)
        sizes = {each.id: each.seq for each in await harness.client.sessions.list_recent()}
    assert Counter(seen.record.session for seen in found) == sizes
    assert all(in_order(found, each) for each in sizes)


async def test_who_comes_back_is_told_all_of_a_subagent_that_began_meanwhile(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("one"), DONE, one=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        await harness.until(session, lambda event: event.type == "task.started")
        (child,) = (await harness.client.sessions.tree(session))[1:]
        (ask,) = await harness.wait_for_asks(child)
        watching = asyncio.create_task(told(harness, session, 1))
        await harness.answer(ask)
        found = await watching
    assert in_order(found, session, 1)
    assert next(seen.record.seq for seen in found if seen.record.session == child) == 1
    assert in_order(found, child)


async def test_a_watcher_that_breaks_off_at_any_event_is_told_the_rest_when_it_comes_back(open_harness: Open) -> None:
    async with open_harness(scripts=BOTH) as harness, harness.running_worker():
        session = await harness.start_session("Find both.")
        await harness.ended(session)
        sizes = {each.id: each.seq for each in await harness.client.sessions.list_recent()}
        watching, found = SessionWatcher(harness.database, session, with_subagents=True), list[EventWithContents]()
        while Counter(seen.record.session for seen in found) != sizes:
            async with asyncio.timeout(WAIT_TIMEOUT), aclosing(watching.stream()) as pieces:
                async for seen in pieces:
                    assert isinstance(seen, EventWithContents)
                    found.append(seen)
                    break
    assert all(in_order(found, each) for each in sizes)


async def followed(
    harness: Harness, after: dict[SessionId, int] | None, ends: int, begun: asyncio.Event, *, cut: bool = False
) -> list[EventWithContents]:
    """What a follower of all sessions reads up to the end of so many turns."""
    found: list[EventWithContents] = []
    async with asyncio.timeout(WAIT_TIMEOUT), aclosing(harness.client.records.watch_all(after)) as news:
        while ends:
            reading = asyncio.ensure_future(anext(news))
            while not begun.is_set() and not await harness.database.rows(FOLLOWERS.encode()):
                await asyncio.sleep(0.01)
            begun.set()
            found.append(await reading)
            ends -= found[-1].record.event.type == "turn.ended"
            if cut:
                async with harness.database.transaction() as connection:
                    await connection.execute(CUT.encode())
    return found


@pytest.mark.parametrize("cut", [False, True])
async def test_a_follower_of_all_sessions_reads_each_event_of_each_once_in_order(open_harness: Open, cut: bool) -> None:
    async with open_harness(scripts=BOTH) as harness, harness.running_worker():
        before = await harness.start_session("[[script:one]] Look.")
        await harness.ended(before)
        begun = asyncio.Event()
        following = asyncio.create_task(followed(harness, None, 4, begun, cut=cut))
        await begun.wait()
        known = (await harness.client.sessions.get(before)).seq
        session = await harness.start_session("Find both.")
        await harness.client.prompt(before, "[[script:one]] Again.")
        found = await following
        sizes = {each.id: each.seq for each in await harness.client.sessions.list_recent()}
        (first, *rest) = await harness.client.sessions.tree(session)
        later = await followed(harness, {before: known, first: 3}, 4, begun)
    for each in rest:
        assert in_order(found, each) and in_order(later, each)
    assert in_order(found, first) and in_order(found, before, known)
    assert in_order(later, first, 3) and in_order(later, before, known)
    assert {each.record.session for each in found} == {each.record.session for each in later} == sizes.keys()


def _starts(seen: EventWithContents) -> bool:
    return isinstance(seen.record.event, TaskStarted)


def _finishes(seen: EventWithContents) -> bool:
    return isinstance(seen.record.event, CallFinished)
