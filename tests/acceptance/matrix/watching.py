"""Somebody who watches a session from its first event, whatever dies meanwhile."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.acceptance.trial import Trial
from tests.house import ACTOR
from tests.patience import PATIENCE
from worker.client import Seen, SessionClient
from workflows.domain.ids import SessionId

_LOOK_PERIOD: Final = 0.02


@dataclass
class Watcher:
    """Who has seen these events of each session, in this order."""

    client: SessionClient
    session: SessionId
    seen: dict[SessionId, list[int]] = field(default_factory=lambda: defaultdict(list))

    async def watch(self) -> None:
        async with aclosing(self.client.watch(self.session)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Seen):
                    self.seen[piece.record.session].append(piece.record.seq)

    async def complaint(self, last: int) -> list[str]:
        """What is wrong with what was seen of a log that has ended with event `last`: every event, once, in order."""
        own = self.seen[self.session]
        try:
            async with asyncio.timeout(PATIENCE):
                while not own or own[-1] < last:
                    await asyncio.sleep(_LOOK_PERIOD)
        except TimeoutError:
            return [f"who watched has seen no event after {own[-1:]}, the log goes to {last}"]
        torn = {session: seen for session, seen in self.seen.items() if seen != list(range(1, len(seen) + 1))}
        return [f"who watched has seen these events: {torn}"] if torn else []


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
