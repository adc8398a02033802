"""The inbox: what waits for a person."""

from typing import Final

from activities.store import waiting_items
from activities.store.database import Database
from worker.stack.state_file import Endpoints
from workflows.domain.ids import AskId, Prefix, SessionId
from workflows.domain.views.inbox import Completion, InboxEntry, SuspendedSession

_CONNECT_TIMEOUT: Final = 4.0  # seconds; longer than a restart of PostgreSQL


def door_database(endpoints: Endpoints) -> Database:
    """A door's connections, opened with `async with`."""
    pooler = endpoints.pooler_url
    return Database(endpoints.postgres_url, pooler=pooler, size=4, connect_timeout=_CONNECT_TIMEOUT)


class InboxReader:
    """The client's quickest part to start: needs only PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def asks(
        self, *, session: SessionId | None = None, ask: AskId | None = None, limit: int | None = None
    ) -> list[InboxEntry]:
        """Oldest first; `ask`: that one in any state, by its id or name."""
        return await waiting_items.pending_asks(self.database, session=session, ask=ask, limit=limit)

    async def ask_ids(self) -> list[AskId]:
        return await waiting_items.pending_ask_ids(self.database)

    async def suspended(self, session: SessionId | None = None) -> list[SuspendedSession]:
        """Sessions that a person must resume."""
        return await waiting_items.suspended_sessions(self.database, session)

    async def completions(self, prefix: Prefix, typed: str) -> list[Completion]:
        """Sessions, open asks, grants or schedules by the start of their ids."""
        query = {
            Prefix.SESSION: waiting_items.complete_sessions,
            Prefix.ASK: waiting_items.complete_asks,
            Prefix.GRANT: waiting_items.complete_grants,
            Prefix.SCHEDULE: waiting_items.complete_schedules,
        }[prefix]
        return await query(self.database, typed)

    async def tokens(self) -> set[str]:
        """The tokens that calls wait for."""
        from activities.store import waits  # start-up time: it also writes, with all events

        return {each.subject.name for each in await waits.open_pokes(self.database)}
