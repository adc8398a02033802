"""Following a session from outside: its events are collected, shown, and waited for."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from worker.client import Seen, SessionClient
from worker.settings import Settings
from worker.stack.status import endpoints
from workflows.domain.errors import Unavailable
from workflows.domain.events import Actor, Event, Record, TurnEnded
from workflows.domain.ids import SessionId

READER: Final = Actor(subject="demo", method="demo")
PATIENCE: Final = 240.0  # seconds until a demo that waits for something gives up; a busy machine takes one minute


def reader(settings: Settings) -> SessionClient:
    """A client that only looks. Raises Unavailable when the stack does not serve."""
    places = endpoints(settings)
    if places is None:
        raise Unavailable("The demo's stack does not serve: see its logs.")
    return SessionClient(settings, places, READER)


class Follower:
    """Reads the log of one session on and on; it is not connected while nobody waits, so a crash cannot hit it."""

    def __init__(self, settings: Settings, session: SessionId, show: Callable[[Seen], None]) -> None:
        self.settings = settings
        self.session = session
        self.records: list[Record] = []
        self._show = show

    async def catch_up(self) -> None:
        """Show what has happened by now."""
        async with reader(self.settings) as client:
            async for seen in client.log(self.session, len(self.records)):
                self.records.append(seen.record)
                self._show(seen)

    async def until(self, what: str, wanted: Callable[[Event], bool]) -> Seen:
        """The next event that is wanted; what comes before it is shown, it is not.

        Raises Unavailable when the turn ends without it, or when nothing happens any more.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._next(what, wanted)
        except TimeoutError:
            raise Unavailable(f"For {PATIENCE:.0f} s the demo has waited in vain for {what}.") from None

    async def _next(self, what: str, wanted: Callable[[Event], bool]) -> Seen:
        async with reader(self.settings) as client, aclosing(client.watch(self.session, len(self.records))) as watched:
            async for seen in watched:
                if not isinstance(seen, Seen):
                    continue
                self.records.append(seen.record)
                if wanted(seen.record.event):
                    return seen
                self._show(seen)
                if isinstance(seen.record.event, TurnEnded):
                    break
        raise Unavailable(f"The session's turn has ended without {what}.")
