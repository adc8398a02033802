"""A client that watches a session from its first event, through all faults."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.acceptance.trial import Trial
from tests.harness import ACTOR
from tests.polling import WAIT_TIMEOUT
from worker.api.events import EventWithContents
from worker.client import Holdfast, SessionClient
from workflows.domain.ids import SessionId

_POLL_INTERVAL: Final = 0.02


@dataclass
class TrialWatcher:
    """The events of each session in the order of their arrival."""

    client: SessionClient
    session: SessionId
    seen: dict[SessionId, list[int]] = field(default_factory=lambda: defaultdict(list))

    async def watch(self) -> None:
        async with aclosing(self.client.records.watch(self.session)) as pieces:
            async for piece in pieces:
                if isinstance(piece, EventWithContents):
                    self.seen[piece.record.session].append(piece.record.seq)

    async def complaint(self, last: int) -> list[str]:
        """What is wrong with the events of a log that ended with `last`: each must come once, in order."""
        own = self.seen[self.session]
        try:
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not own or own[-1] < last:
                    await asyncio.sleep(_POLL_INTERVAL)
        except TimeoutError:
            return [f"who watched has seen no event after {own[-1:]}, the log goes to {last}"]
        torn = {session: seen for session, seen in self.seen.items() if seen != list(range(1, len(seen) + 1))}
        return [f"who watched has seen these events: {torn}"] if torn else []


@asynccontextmanager
async def watching(trial: Trial, session: SessionId) -> AsyncIterator[TrialWatcher]:
    """Watch during the block, with another client."""
    async with Holdfast(trial.harness.settings, trial.harness.endpoints) as holdfast:
        client = holdfast.as_(ACTOR)
        watcher = TrialWatcher(client, session)
        watches = asyncio.create_task(watcher.watch())
        try:
            yield watcher
        finally:
            watches.cancel()
            await asyncio.gather(watches, return_exceptions=True)
