"""Somebody who watches a session from its first event, whatever dies meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.acceptance.trial import Trial
from tests.house import ACTOR, PATIENCE
from worker.client import Seen, SessionClient
from workflows.domain.ids import SessionId

_LOOK_PERIOD: Final = 0.02


@dataclass
class Watcher:
    """Who has seen these events, in this order."""

    client: SessionClient
    session: SessionId
    seen: list[int] = field(default_factory=list)

    async def watch(self) -> None:
        async with aclosing(self.client.watch(self.session)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Seen):
                    self.seen.append(piece.record.seq)

    async def complaint(self, last: int) -> list[str]:
        """What is wrong with what was seen, when all until the last event has to be."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not self.seen or self.seen[-1] < last:
                    await asyncio.sleep(_LOOK_PERIOD)
        except TimeoutError:
            return [f"who watched has seen no event after {self.seen[-1:]}, the log goes to {last}"]
        return [] if self.seen == list(range(1, last + 1)) else [f"who watched has seen the events {self.seen}"]


@asynccontextmanager
async def watching(trial: Trial, session: SessionId) -> AsyncIterator[Watcher]:
    """Watch as long as the block runs, with a client of one's own."""
    async with SessionClient(trial.house.settings, trial.house.endpoints, ACTOR) as client:
        watcher = Watcher(client, session)
        watches = asyncio.create_task(watcher.watch())
        try:
            yield watcher
        finally:
            watches.cancel()
            await asyncio.gather(watches, return_exceptions=True)
