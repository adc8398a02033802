"""Reads sessions for a person, stored and live."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from activities.store import events, grants, sessions, transcript, turns
from activities.store.database import Database
from activities.store.deltas import DeltaRow
from activities.store.events import Verification
from activities.store.grants import GrantRow
from activities.store.sessions import Origin, Overview, Totals
from activities.store.transcript import MessageDetails
from activities.store.turns import UnfinishedTurn
from worker.inbox_reader import InboxReader
from worker.session_watcher import POLL_INTERVAL, EventWithContents, SessionWatcher, read_events
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import SessionId
from workflows.domain.messages import Transcript


class SessionReader(InboxReader):
    """Changes nothing; `host` is this machine's name in a shared database."""

    def __init__(self, database: Database, host: str | None) -> None:
        super().__init__(database)
        self.host = host

    async def sessions(self, directory: str | None = None, limit: int | None = 1000) -> list[Overview]:
        return await sessions.overview(self.database, directory=directory, host=self.host, limit=limit)

    async def session_count(self, directory: str | None = None) -> int:
        """Sessions that people started, in all directories or one."""
        return await sessions.count(self.database, directory=directory, host=self.host)

    async def last(self, directory: str) -> SessionId | None:
        """The directory's session last started or prompted by a person."""
        return await sessions.last_used(self.database, directory, self.host)

    async def session_ids(self) -> list[SessionId]:
        return await sessions.ids(self.database)

    async def session(self, session: SessionId) -> Overview:
        """One session. Raises NotFound."""
        return await sessions.get(self.database, session)

    async def origin(self, session: SessionId) -> Origin:
        """Its origin and configuration sources. Raises NotFound."""
        return await sessions.origin(self.database, session)

    async def require_unarchived(self, session: SessionId) -> Overview:
        """A session that is not archived. Raises NotFound, Conflict."""
        found = await self.session(session)
        if found.archive is not None:
            raise Conflict(f"Session {session!r} {found.archive}.")
        return found

    async def tree(self, session: SessionId) -> list[SessionId]:
        """The session and its subagents, each after its parent. Raises NotFound."""
        await self.require_unarchived(session)
        return await sessions.tree(self.database, session)

    async def totals(self, session: SessionId) -> Totals:
        return await sessions.totals(self.database, session)

    async def grants(self, *, include_revoked: bool = False) -> list[GrantRow]:
        return await grants.list_all(self.database, include_revoked=include_revoked)

    async def log(self, session: SessionId, after: int = 0) -> AsyncGenerator[EventWithContents, None]:
        """The session's events so far. Raises NotFound."""
        await self.require_unarchived(session)
        async for seen in read_events(self.database, session, after):
            yield seen

    async def verify(self, session: SessionId) -> Verification:
        """Recompute the session's hash chain. Raises NotFound."""
        await self.require_unarchived(session)
        return await events.verify(self.database, session)

    async def transcript(self, session: SessionId) -> Transcript:
        """A session's messages. Raises NotFound."""
        await self.require_unarchived(session)
        async with self.database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as batch:
            return await transcript.read(batch, session)

    async def message_details(self, session: SessionId) -> AsyncIterator[MessageDetails]:
        """One by one, never all in memory. Raises NotFound."""
        await self.session(session)
        async for message_details in transcript.iter_messages(self.database, session):
            yield message_details

    async def cut_short(self, session: SessionId) -> list[UnfinishedTurn]:
        """Turns that ended before their work was done."""
        return await turns.unfinished(self.database, session)

    async def watch(
        self, session: SessionId, after: int = 0, *, with_subagents: bool = False
    ) -> AsyncGenerator[EventWithContents | DeltaRow, None]:
        """Events behind `after`, each once and in order, and unfinished pieces as they come; endless.

        Reconnects without losing events. Close it when leaving early (`aclosing`): it holds a connection. Raises
        NotFound.
        """
        session_watcher, known = SessionWatcher(self.database, session, after, with_subagents=with_subagents), False
        while True:
            try:
                known = known or bool(await self.require_unarchived(session))
                async with aclosing(session_watcher.stream()) as pieces:
                    async for piece in pieces:
                        yield piece
            except Unavailable:
                await asyncio.sleep(POLL_INTERVAL)
