"""The public Python API behind all doors."""

from typing import TYPE_CHECKING, Self

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
        """Send the session's signals if Temporal is reachable, else leave them to the sweeper. True: acknowledged."""
        try:
            if self._sender is None:
                none_left = outbox.pass_on if self.passes_on else outbox.is_empty
                if await none_left(self.database, session):
                    return True
                self._sender = await self._connect()
            await self._sender.send(session)
        except Unavailable:
            return False
        return True

    async def _connect(self) -> "SignalSender":
        # Commands that only read or pass on need not import Temporal's client (0.4 s, 40 MB).
        from worker.connect import connect
        from worker.outbox import SignalSender

        return SignalSender(self.database, await connect(self.settings, self.endpoints), self.settings)
