"""Notifies watchers after the commit."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

from activities.cancellation import cancel_and_wait
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

CHANNEL: Final = "holdfast"
# Classes of our advisory locks (our own numbers); the object is the hash of the session's id.
WATCHER_LOCK_CLASS: Final = 1_346_851  # watched sessions: deltas are written
FOLLOWER_LOCK_CLASS: Final = 1_346_852  # sessions whose log is followed: notifications are sent
ALL_SESSIONS: Final = SessionId("")  # stands for all of them, in such a lock
_CLOSE_TIMEOUT: Final = 1.0  # seconds for the rest when a process ends


class NotifySender:
    """Sends the ids of changed sessions; those that come meanwhile go together.

    PostgreSQL holds a database-wide lock from a transaction's notification to the end of its commit, so our writing
    transactions carry none. Notifications may be lost.
    """

    def __init__(self, send: Callable[[list[SessionId]], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: set[SessionId] = set()
        self._sending: asyncio.Task[None] | None = None

    def add(self, sessions: Iterable[SessionId]) -> None:
        self._waiting.update(sessions)
        if self._waiting and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Send the rest, if quick."""
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=_CLOSE_TIMEOUT)
            await cancel_and_wait(self._sending)

    async def _run(self) -> None:
        while self._waiting:
            taken, self._waiting = sorted(self._waiting), set()
            with suppress(Unavailable):
                await self._send(taken)
