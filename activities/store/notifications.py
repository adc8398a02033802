"""Notifications on their way to whoever watches: after the commit that they tell of, several at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from activities.cancelling import ended
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

CHANNEL: Final = "holdfast"
FOLLOWERS: Final = 1_346_852  # the class of our advisory locks for sessions whose log is followed
_LAST: Final = 1.0  # seconds for what is left when a process ends


class Notifications:
    """Sends the names of sessions in which something has happened; what comes while it sends goes together.

    PostgreSQL holds a lock of the whole database from a transaction's notification to the end of its commit. So no
    transaction of ours that writes carries one. One may be lost: a watcher looks by itself once a second.
    """

    def __init__(self, send: Callable[[list[SessionId]], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: set[SessionId] = set()
        self._sending: asyncio.Task[None] | None = None

    def add(self, sessions: Iterable[SessionId]) -> None:
        """Have these sent soon."""
        self._waiting.update(sessions)
        if self._waiting and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Send what is left, if that is quick."""
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=_LAST)
            await ended(self._sending)

    async def _run(self) -> None:
        while self._waiting:
            taken, self._waiting = sorted(self._waiting), set()
            with suppress(Unavailable):
                await self._send(taken)
