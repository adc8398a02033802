"""Follows a session and its subagents, or all sessions."""

from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final

from activities.store import deltas, events, tasks
from activities.store.database import Database
from activities.store.notification_hub import WatchProgress
from activities.store.pg_notify import ALL_SESSIONS
from workflows.domain.events.calls import CallFinished
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import PartId, SessionId
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents

_BATCH_SIZE: Final = 100  # events whose contents are read at a time


class SessionWatcher:
    """Yields each event once and in order, across reconnections.

    `with_subagents` adds each child's events, before its call ends or its result comes. Unfinished pieces are only the
    session's own.
    """

    def __init__(self, database: Database, session: SessionId, after: int = 0, *, with_subagents: bool = False) -> None:
        self._database = database
        self._session = session
        self._with_subagents = with_subagents
        self._positions: dict[SessionId, int] = {session: after}
        self._children: dict[SessionId, dict[PartId, SessionId]] = defaultdict(dict)
        self._background: set[PartId] = set()  # calls that end before their subagents
        self._last_delta = 0
        self._started = after == 0 or not with_subagents

    async def stream(self) -> AsyncGenerator[EventWithContents | PublishedDelta, None]:
        """Holds one connection. Raises Unavailable: reconnect."""
        newest = await deltas.newest_id(self._database, self._session)
        self._last_delta = min(self._last_delta, newest)  # ids restart after a server crash
        if not self._started:
            await self._find_children(self._session)
            self._started = True
        async with aclosing(events.ticks(self._database, self._session, self._progress)) as ticks:
            async for _ in ticks:
                async with aclosing(self._new_events(self._session)) as news:
                    async for seen in news:
                        yield seen
                # Behind all events: what is unfinished came after them.
                for piece in await deltas.since(self._database, self._session, self._last_delta):
                    self._last_delta = piece.id
                    yield piece

    async def _find_children(self, session: SessionId) -> None:
        """Follow running children from here, later ones from their start."""
        working = await tasks.unsettled(self._database, session)
        ahead = events.after(self._database, session, self._positions[session])
        announced_later = {each.event.call async for each in ahead if isinstance(each.event, TaskStarted)}
        for child in working:
            if child.background:
                self._background.add(child.call)
            if child.call not in announced_later:
                self._follow(session, child.call, child.child, child.seq)
                await self._find_children(child.child)

    def _follow(self, session: SessionId, call: PartId, child: SessionId, after: int = 0) -> None:
        if self._with_subagents:
            self._children[session].setdefault(call, child)
            self._positions.setdefault(child, after)

    def _ended_task(self, session: SessionId, event: Event) -> PartId | None:
        """A call whose subagent is followed no longer: in the background, its result tells of its end."""
        match event:
            case CallFinished(call=call) if call not in self._background:
                return call if call in self._children[session] else None
            case PromptAccepted(task=call) if call is not None:
                return call if call in self._children[session] else None
        return None

    def _progress(self) -> WatchProgress:
        subagents = (child for children in self._children.values() for child in children.values())
        followed = {each: self._positions[each] for each in (self._session, *subagents)}
        return WatchProgress(followed, self._last_delta)

    async def _new_events(self, session: SessionId) -> AsyncGenerator[EventWithContents, None]:
        async for seen in read_events(self._database, session, self._positions[session]):
            event = seen.record.event
            ended = self._ended_task(session, event)
            if ended is not None:
                async for earlier in self._new_events(self._children[session][ended]):
                    yield earlier
                del self._children[session][ended]  # now: a reconnection comes back here
            if isinstance(event, TaskStarted):
                self._follow(session, event.call, event.child)
                if event.background:
                    self._background.add(event.call)
            self._positions[session] = seen.record.seq
            yield seen
        for child in list(self._children[session].values()):
            async for seen in self._new_events(child):
                yield seen


class LogFollower:
    """Yields the events of all sessions, each session's once and in order, across reconnections.

    `after`: the last known event of each session, 0 for those that it does not name; None: all of the present ones.
    """

    def __init__(self, database: Database, after: Mapping[SessionId, int] | None = None) -> None:
        self._database = database
        self._positions = None if after is None else dict(after)

    async def stream(self) -> AsyncGenerator[EventWithContents, None]:
        """Holds one connection. Raises Unavailable: reconnect."""
        if self._positions is None:
            self._positions = await events.newest(self._database)
        positions = self._positions
        async with aclosing(events.ticks(self._database, ALL_SESSIONS, lambda: WatchProgress(positions))) as ticks:
            async for changed in ticks:
                newest = await events.newest(self._database) if ALL_SESSIONS in changed else {}
                lagging = {session for session, seq in newest.items() if seq > positions.get(session, 0)}
                for session in lagging | changed - {ALL_SESSIONS}:
                    async for seen in read_events(self._database, session, positions.get(session, 0)):
                        positions[session] = seen.record.seq
                        yield seen


async def read_events(database: Database, session: SessionId, after: int) -> AsyncIterator[EventWithContents]:
    """The present events after `after`, with contents."""
    page: list[EventRecord] = []
    async for record in events.after(database, session, after):
        page.append(record)
        if len(page) == _BATCH_SIZE:
            for seen in await _with_contents(database, page):
                yield seen
            page = []
    for seen in await _with_contents(database, page):
        yield seen


async def _with_contents(database: Database, page: list[EventRecord]) -> list[EventWithContents]:
    contents = await events.contents(database, page)
    return [
        EventWithContents(
            record=record, contents={name: contents[name] for name in events.content_ids(record) if name in contents}
        )
        for record in page
    ]
