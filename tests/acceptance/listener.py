"""A client that watches a session all the while, and keeps what it gets."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from tests.patience import PATIENCE
from worker.client import Delta, Seen, SessionClient
from workflows.domain.events import Event
from workflows.domain.ids import SessionId


@dataclass
class Listener:
    """What has come so far: events in the order of their coming, and unfinished text by its attempt."""

    seen: list[Seen] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    grown: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def in_order(self) -> bool:
        """Whether each event came once, none was left out, and they came in their order."""
        numbers = [each.record.seq for each in self.seen]
        return numbers == list(range(1, len(numbers) + 1))

    def hear(self, piece: Seen | Delta) -> None:
        if isinstance(piece, Seen):
            self.seen.append(piece)
        else:
            self.texts[piece.attempt] += str(piece.body.get("text", ""))
        self.grown.set()

    async def until(self, wanted: Callable[["Listener"], bool]) -> None:
        """Wait until what has come is what is wanted."""
        async with asyncio.timeout(PATIENCE):
            while not wanted(self):
                self.grown.clear()
                await self.grown.wait()

    async def heard(self, wanted: Callable[[Event], bool], times: int = 1) -> None:
        """Wait until so many such events have come."""
        await self.until(lambda listener: sum(wanted(each.record.event) for each in listener.seen) >= times)


@asynccontextmanager
async def listening(client: SessionClient, session: SessionId) -> AsyncIterator[Listener]:
    """Watch a session while the block runs."""
    listener = Listener()

    async def listen() -> None:
        async with aclosing(client.watch(session)) as watched:
            async for piece in watched:
                listener.hear(piece)

    task = asyncio.create_task(listen())
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
