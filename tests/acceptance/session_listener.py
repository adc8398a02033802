"""A client that watches a session and records what it gets."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from activities.cancellation import cancel_and_wait
from tests.polling import WAIT_TIMEOUT
from worker.session_client import SessionClient
from workflows.domain.events.event import Event
from workflows.domain.ids import SessionId
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents


@dataclass
class SessionListener:
    """The received events in order, and unfinished text by attempt."""

    seen: list[EventWithContents] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    grown: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def numbers(self) -> dict[SessionId, list[int]]:
        """The numbers of the received events, by session: a subagent's come with its parent's."""
        found: dict[SessionId, list[int]] = defaultdict(list)
        for each in self.seen:
            found[each.record.session].append(each.record.seq)
        return found

    @property
    def in_order(self) -> bool:
        """Whether all events came, each once, in order."""
        return all(numbers == list(range(1, len(numbers) + 1)) for numbers in self.numbers.values())

    def receive(self, piece: EventWithContents | PublishedDelta) -> None:
        if isinstance(piece, EventWithContents):
            self.seen.append(piece)
        else:
            self.texts[piece.attempt] += str(piece.body.get("text", ""))
        self.grown.set()

    async def until(self, wanted: Callable[["SessionListener"], bool]) -> None:
        """Wait until the received events satisfy `wanted`."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not wanted(self):
                self.grown.clear()
                await self.grown.wait()

    async def wait_for_event(self, wanted: Callable[[Event], bool], times: int = 1) -> None:
        """Wait for `times` such events."""
        await self.until(lambda listener: sum(wanted(each.record.event) for each in listener.seen) >= times)


@asynccontextmanager
async def listening(client: SessionClient, session: SessionId) -> AsyncIterator[SessionListener]:
    """Watch a session while the block runs."""
    listener = SessionListener()

    async def listen() -> None:
        async with aclosing(client.records.watch(session)) as watched:
            async for piece in watched:
                listener.receive(piece)

    task = asyncio.create_task(listen())
    try:
        yield listener
    finally:
        await cancel_and_wait(task)
