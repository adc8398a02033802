"""Watching: what happens to a session and to its subagents, each event once and in order."""

from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final

from pydantic import JsonValue

from activities.store import deltas, events, tasks
from activities.store.database import Database
from activities.store.deltas import Delta
from workflows.domain.events import CallFinished, Record, TaskStarted
from workflows.domain.ids import PartId, SessionId
from workflows.domain.value import Value

TICK: Final = 1.0  # seconds between two looks of a watcher whose notifications were lost
_PAGE: Final = 100  # events whose contents are read together


class Seen(Value):
    """An event with the contents that it names, by id."""

    record: Record
    contents: dict[str, JsonValue]


class Watching:
    """Follows a session behind event `after`, over as many connections as it takes.

    With `below`, what its subagents do is told too: a child's events in their own order, all of them before the end
    of the call that it works for. Unfinished pieces are those of the session itself.
    """

    def __init__(self, database: Database, session: SessionId, after: int = 0, *, below: bool = False) -> None:
        self._database = database
        self._session = session
        self._below = below
        self._told: dict[SessionId, int] = {session: after}
        self._children: dict[SessionId, dict[PartId, SessionId]] = defaultdict(dict)
        self._delta = 0
        self._begun = after == 0 or not below

    async def pieces(self) -> AsyncGenerator[Seen | Delta, None]:
        """What happens, as long as one connection holds. Raises Unavailable: go on with a new one."""
        newest = await deltas.newest(self._database, self._session)
        self._delta = min(self._delta, newest)  # numbers begin anew after a crash of the server
        if not self._begun:
            await self._find_children(self._session)
            self._begun = True
        async with aclosing(events.woken(self._database, self._session, self._followed, at_least_every=TICK)) as ticks:
            async for _ in ticks:
                for piece in await deltas.since(self._database, self._session, self._delta):
                    self._delta = piece.id
                    yield piece
                async with aclosing(self._news(self._session)) as news:
                    async for seen in news:
                        yield seen

    async def _find_children(self, session: SessionId) -> None:
        """Follow those that work already from here on, and whoever works for them. Of one whose start is still to be
        told, everything is."""
        working = await tasks.unsettled(self._database, session)
        ahead = events.after(self._database, session, self._told[session])
        told_of_later = {each.event.call async for each in ahead if isinstance(each.event, TaskStarted)}
        for child in working:
            if child.call not in told_of_later:
                self._follow(session, child.call, child.child, child.seq)
                await self._find_children(child.child)

    def _follow(self, session: SessionId, call: PartId, child: SessionId, after: int = 0) -> None:
        if self._below:
            self._children[session].setdefault(call, child)
            self._told.setdefault(child, after)

    def _followed(self) -> set[SessionId]:
        """The subagents that are followed just now."""
        return {child for children in self._children.values() for child in children.values()}

    async def _news(self, session: SessionId) -> AsyncGenerator[Seen, None]:
        """What came since of a session, then of those that work for it now."""
        async for seen in read(self._database, session, self._told[session]):
            event = seen.record.event
            if isinstance(event, CallFinished) and event.call in self._children[session]:
                async for earlier in self._news(self._children[session][event.call]):
                    yield earlier
                del self._children[session][event.call]  # now: a connection that breaks meanwhile brings us here again
            if isinstance(event, TaskStarted):
                self._follow(session, event.call, event.child)
            self._told[session] = seen.record.seq
            yield seen
        for child in list(self._children[session].values()):
            async for seen in self._news(child):
                yield seen


async def read(database: Database, session: SessionId, after: int) -> AsyncIterator[Seen]:
    """The session's events behind `after`, as far as they go now, with their contents."""
    page: list[Record] = []
    async for record in events.after(database, session, after):
        page.append(record)
        if len(page) == _PAGE:
            for seen in await _with_contents(database, page):
                yield seen
            page = []
    for seen in await _with_contents(database, page):
        yield seen


async def _with_contents(database: Database, page: list[Record]) -> list[Seen]:
    contents = await events.contents(database, page)
    return [
        Seen(record=record, contents={name: contents[name] for name in events.names(record) if name in contents})
        for record in page
    ]
