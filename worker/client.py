"""The public Python API behind all doors."""

import asyncio
from typing import TYPE_CHECKING, Final, Self

from activities.store import outbox
from worker.inbox_reader import door_database
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.actor import Actor
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

if TYPE_CHECKING:  # start-up time
    from worker.outbox import SignalSender

_DELIVERY: Final = 2.0  # seconds for Temporal to take a session's signals: what was accepted is in the database
_SILENCE: Final = 5.0  # seconds without another attempt after one that took longer


class Holdfast:
    """One database's sessions, shared by this process's doors.

    With `passes_on`, a listening worker sends the signals of commands, which end before reaching Temporal.
    """

    def __init__(self, settings: Settings, endpoints: Endpoints, *, passes_on: bool = False) -> None:
        self.settings = settings
        self.endpoints = endpoints
        self.passes_on = passes_on
        self.database = door_database(endpoints)
        self._sender: SignalSender | None = None
        self._silent_until = 0.0  # by the event loop's clock

    async def __aenter__(self) -> Self:
        await self.database.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sender = None
        await self.database.__aexit__()

    def as_(self, actor: Actor) -> SessionClient:
        """One person's client. Cheap: a server makes one per request."""
        return SessionClient(self.settings, self.database, actor, self.deliver)

    async def deliver(self, session: SessionId) -> bool:
        """Send the session's signals if Temporal takes them now, else leave them to the sweeper. True: acknowledged."""
        try:
            if self._sender is None:
                none_left = outbox.pass_on if self.passes_on else outbox.is_empty
                if await none_left(self.database, session):
                    return True
            await self._send(session)
        except Unavailable:
            return False
        return True

    async def _send(self, session: SessionId) -> None:
        """Raises Unavailable."""
        clock = asyncio.get_running_loop().time
        if clock() < self._silent_until:
            raise Unavailable("Temporal does not answer.")
        try:
            async with asyncio.timeout(_DELIVERY):
                if self._sender is None:
                    self._sender = await self._connect()
                await self._sender.send(session)
        except TimeoutError:
            self._silent_until = clock() + _SILENCE
            raise Unavailable("Temporal does not answer.") from None

    async def _connect(self) -> "SignalSender":
        # Commands that only read or pass on need not import Temporal's client (0.4 s, 40 MB).
        from worker.connect import connect
        from worker.outbox import SignalSender

        return SignalSender(self.database, await connect(self.settings, self.endpoints), self.settings)
