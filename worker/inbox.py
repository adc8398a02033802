"""Inbox: what waits for a person, of all sessions. The part of the client that starts quickest."""

from typing import Final, Self

from activities.store import inbox, known
from activities.store.database import Database
from activities.store.inbox import InboxEntry as InboxEntry
from activities.store.inbox import Parked as Parked
from activities.store.known import Known as Known
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.ids import AskId, Prefix, SessionId

_PATIENCE: Final = 4.0  # seconds for a connection: longer than PostgreSQL takes to be started again


class Inbox:
    """Reads what waits; it needs PostgreSQL only, and none of what writing takes."""

    def __init__(self, settings: Settings, endpoints: Endpoints) -> None:
        self.settings = settings
        self.endpoints = endpoints
        self.database = Database(endpoints.postgres_url, size=4, patience=_PATIENCE)

    async def __aenter__(self) -> Self:
        await self.database.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.database.__aexit__()

    async def asks(
        self, *, session: SessionId | None = None, ask: AskId | None = None, limit: int | None = None
    ) -> list[InboxEntry]:
        """What waits for an answer, of all sessions or one, the oldest first; with `ask`, that one in any state."""
        return await inbox.asks(self.database, session=session, ask=ask, limit=limit)

    async def ask_ids(self) -> list[AskId]:
        """What waits for an answer, the oldest first."""
        return await inbox.ask_ids(self.database)

    async def parked(self, session: SessionId | None = None) -> list[Parked]:
        """The sessions that go on only when a person says so."""
        return await inbox.parked(self.database, session)

    async def known(self, prefix: Prefix, begun: str) -> list[Known]:
        """Sessions, open asks or grants whose ids begin so."""
        look = {Prefix.SESSION: known.sessions, Prefix.ASK: known.asks, Prefix.GRANT: known.grants}[prefix]
        return await look(self.database, begun)
