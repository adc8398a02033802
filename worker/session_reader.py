"""Sessions as a person lists them."""

from activities.store import sessions
from activities.store.database import Database
from worker.api.mapping import from_row, from_rows
from worker.api.sessions import Overview, SessionOrigin, Totals
from workflows.domain.errors import Conflict
from workflows.domain.ids import SessionId


class SessionReader:
    """`host` is this machine's name in a shared database."""

    def __init__(self, database: Database, host: str | None) -> None:
        self.database = database
        self.host = host

    async def list_recent(self, directory: str | None = None, limit: int | None = 1000) -> list[Overview]:
        """People's sessions, the last changed first, each followed by its subagents'."""
        rows = await sessions.overview(self.database, directory=directory, host=self.host, limit=limit)
        return from_rows(Overview, rows)

    async def count(self, directory: str | None = None) -> int:
        return await sessions.count(self.database, directory=directory, host=self.host)

    async def last(self, directory: str) -> SessionId | None:
        """The directory's session last started or prompted by a person."""
        return await sessions.last_used(self.database, directory, self.host)

    async def ids(self) -> list[SessionId]:
        return await sessions.ids(self.database)

    async def get(self, session: SessionId) -> Overview:
        """Raises NotFound."""
        return from_row(Overview, await sessions.get(self.database, session))

    async def origin(self, session: SessionId) -> SessionOrigin:
        """Raises NotFound."""
        return from_row(SessionOrigin, await sessions.origin(self.database, session))

    async def require_unarchived(self, session: SessionId) -> Overview:
        """Raises NotFound, Conflict."""
        found = await self.get(session)
        if found.archive is not None:
            raise Conflict(f"Session {session!r} {found.archive}.")
        return found

    async def tree(self, session: SessionId) -> list[SessionId]:
        """The session and its subagents, each after its parent. Raises NotFound."""
        await self.require_unarchived(session)
        return await sessions.tree(self.database, session)

    async def totals(self, session: SessionId) -> Totals:
        """Includes its subagents."""
        return from_row(Totals, await sessions.totals(self.database, session))
