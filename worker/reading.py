"""Reading: what a person can see of sessions, as it is and as it happens."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from activities.store import events, grants, sessions, transcript, turns
from activities.store.deltas import Delta
from activities.store.events import Verified
from activities.store.grants import GrantRow
from activities.store.sessions import Origin, Overview, Totals
from activities.store.transcript import Told
from activities.store.turns import CutShort
from worker.inbox import Inbox
from worker.watching import TICK, Seen, Watching, read
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import SessionId
from workflows.domain.messages import Transcript


class Reading(Inbox):
    """Looks at sessions, and changes nothing."""

    async def sessions(self, directory: str | None = None, limit: int | None = 1000) -> list[Overview]:
        return await sessions.overview(self.database, directory=directory, host=self.settings.host, limit=limit)

    async def session_count(self, directory: str | None = None) -> int:
        """How many sessions people have started, in all directories or one."""
        return await sessions.count(self.database, directory=directory, host=self.settings.host)

    async def last(self, directory: str) -> SessionId | None:
        """The session of a directory that a person has started or sent a prompt to last."""
        return await sessions.last(self.database, directory, self.settings.host)

    async def session_ids(self) -> list[SessionId]:
        return await sessions.ids(self.database)

    async def session(self, session: SessionId) -> Overview:
        """One session. Raises NotFound."""
        return await sessions.get(self.database, session)

    async def origin(self, session: SessionId) -> Origin:
        """Where a session came from, and where its configuration is looked for. Raises NotFound."""
        return await sessions.origin(self.database, session)

    async def here(self, session: SessionId) -> Overview:
        """A session whose rows are here. Raises NotFound, and Conflict for one that is archived."""
        found = await self.session(session)
        if found.archive is not None:
            raise Conflict(f"Session {session!r} {found.archive}.")
        return found

    async def tree(self, session: SessionId) -> list[SessionId]:
        """The session and its subagents', each behind the one that started it. Raises NotFound."""
        await self.here(session)
        return await sessions.tree(self.database, session)

    async def totals(self, session: SessionId) -> Totals:
        return await sessions.totals(self.database, session)

    async def grants(self, *, revoked_too: bool = False) -> list[GrantRow]:
        return await grants.listed(self.database, revoked_too=revoked_too)

    async def log(self, session: SessionId, after: int = 0) -> AsyncGenerator[Seen, None]:
        """The session's events so far. Raises NotFound."""
        await self.here(session)
        async for seen in read(self.database, session, after):
            yield seen

    async def verify(self, session: SessionId) -> Verified:
        """Recompute the session's hash chain. Raises NotFound."""
        await self.here(session)
        return await events.verify(self.database, session)

    async def transcript(self, session: SessionId) -> Transcript:
        """The messages of a session. Raises NotFound."""
        await self.here(session)
        async with self.database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as said:
            return await transcript.read(said, session)

    async def told(self, session: SessionId) -> AsyncIterator[Told]:
        """The messages of a session one after the other, never all at once. Raises NotFound."""
        await self.session(session)
        async for told in transcript.pages(self.database, session):
            yield told

    async def cut_short(self, session: SessionId) -> list[CutShort]:
        """The session's turns that ended before their work was done."""
        return await turns.cut_short(self.database, session)

    async def watch(
        self, session: SessionId, after: int = 0, *, below: bool = False
    ) -> AsyncGenerator[Seen | Delta, None]:
        """Events after `after`, each once and in order, and unfinished pieces as they come; it does not end.

        With `below`, the events of subagents too. A connection that breaks is opened again, and what came meanwhile
        is not missed. Who leaves early closes it (`aclosing`), for it holds a connection. Raises NotFound.
        """
        watching, known = Watching(self.database, session, after, below=below), False
        while True:
            try:
                known = known or bool(await self.here(session))
                async with aclosing(watching.pieces()) as pieces:
                    async for piece in pieces:
                        yield piece
            except Unavailable:
                await asyncio.sleep(TICK)
