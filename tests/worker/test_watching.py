"""Watching a session with its subagents: each event once, in order, over broken connections too."""

import asyncio
from collections import Counter
from contextlib import aclosing

from activities.store import deltas
from tests.house import House
from tests.patience import PATIENCE
from tests.workflows.conftest import Open
from tests.workflows.conftest import open_house as open_house
from tests.workflows.conftest import port as port
from tests.workflows.conftest import swept as swept
from tests.workflows.conftest import warm as warm
from tests.workflows.handing import DONE, FOUND, LOOK, hands_over, played
from worker.client import Seen
from worker.watching import Watching
from workflows.domain.events import CallFinished, TaskStarted
from workflows.domain.ids import SessionId

BOTH = played(hands_over("one", "two"), DONE, one=(LOOK, FOUND), two=(FOUND,))
CUT = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query ILIKE 'listen%' AND pid <> pg_backend_pid()"""


async def told(house: House, session: SessionId, after: int = 0, *, cut: bool = False) -> list[Seen]:
    """What a watcher of the session and its subagents is told up to the end of its turn."""
    found: list[Seen] = []
    async with asyncio.timeout(PATIENCE), aclosing(house.client.watch(session, after, below=True)) as watched:
        async for seen in watched:
            if not isinstance(seen, Seen):
                continue
            found.append(seen)
            if cut:
                async with house.database.transaction() as connection:
                    await connection.execute(CUT)
            if seen.record.session == session and seen.record.event.type == "turn.ended":
                return found
    raise AssertionError("a watch does not end")


async def there(house: House, session: SessionId) -> None:
    """Wait until somebody watches the session."""
    async with asyncio.timeout(PATIENCE):
        while not await deltas.watched(house.database, session):
            await asyncio.sleep(0.01)


def in_order(found: list[Seen], session: SessionId, after: int = 0) -> bool:
    numbers = [seen.record.seq for seen in found if seen.record.session == session]
    return numbers == list(range(after + 1, after + len(numbers) + 1))


async def test_subagents_are_told_of_between_their_start_and_the_end_of_their_call(open_house: Open) -> None:
    async with open_house(scripts=BOTH) as house, house.working():
        session = await house.say("Find both.")
        live = await told(house, session)
        later = await told(house, session)
        sizes = {each.id: each.seq for each in await house.client.sessions()}
    for found in (live, later):
        assert Counter(seen.record.session for seen in found) == sizes
        assert all(in_order(found, each) for each in sizes)
        starts = {seen.record.event.child: place for place, seen in enumerate(found) if _starts(seen)}  # type: ignore[union-attr]
        for child, begin in starts.items():
            places = [place for place, seen in enumerate(found) if seen.record.session == child]
            end = next(place for place, seen in enumerate(found) if place > places[-1] and _finishes(seen))
            assert begin < places[0] <= places[-1] < end


async def test_who_comes_back_to_a_session_is_told_of_its_subagents_from_then_on(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("one"), DONE, one=(LOOK, FOUND))) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        await house.until(session, lambda event: event.type == "task.started")
        (child,) = (await house.client.tree(session))[1:]
        (ask,) = await house.asked(child)
        seen_before = (await house.client.session(session)).seq, (await house.client.session(child)).seq
        watching = asyncio.create_task(told(house, session, seen_before[0]))
        await there(house, session)  # what happens before is not told
        await house.answer(ask)
        found = await watching
        size = (await house.client.session(child)).seq
    below = [seen.record.seq for seen in found if seen.record.session == child]
    assert in_order(found, session, seen_before[0])
    assert below and below == list(range(below[0], size + 1)) and below[0] > seen_before[1]


async def test_a_connection_that_breaks_after_each_event_loses_and_doubles_nothing(open_house: Open) -> None:
    async with open_house(scripts=BOTH) as house, house.working():
        session = await house.say("Find both.")
        found = await told(house, session, cut=True)
        sizes = {each.id: each.seq for each in await house.client.sessions()}
    assert Counter(seen.record.session for seen in found) == sizes
    assert all(in_order(found, each) for each in sizes)


async def test_who_comes_back_is_told_all_of_a_subagent_that_began_meanwhile(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("one"), DONE, one=(LOOK, FOUND))) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        await house.until(session, lambda event: event.type == "task.started")
        (child,) = (await house.client.tree(session))[1:]
        (ask,) = await house.asked(child)
        watching = asyncio.create_task(told(house, session, 1))
        await house.answer(ask)
        found = await watching
    assert in_order(found, session, 1)
    assert next(seen.record.seq for seen in found if seen.record.session == child) == 1
    assert in_order(found, child)


async def test_a_watcher_that_breaks_off_at_any_event_is_told_the_rest_when_it_comes_back(open_house: Open) -> None:
    async with open_house(scripts=BOTH) as house, house.working():
        session = await house.say("Find both.")
        await house.ended(session)
        sizes = {each.id: each.seq for each in await house.client.sessions()}
        watching, found = Watching(house.database, session, below=True), list[Seen]()
        while Counter(seen.record.session for seen in found) != sizes:
            async with asyncio.timeout(PATIENCE), aclosing(watching.pieces()) as pieces:
                async for seen in pieces:
                    assert isinstance(seen, Seen)
                    found.append(seen)
                    break
    assert all(in_order(found, each) for each in sizes)


def _starts(seen: Seen) -> bool:
    return isinstance(seen.record.event, TaskStarted)


def _finishes(seen: Seen) -> bool:
    return isinstance(seen.record.event, CallFinished)
