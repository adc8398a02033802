"""Deletes a session with its subagents', or one message. A step that fails does not stop the others."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from activities.archive.archive_file import draft_of
from activities.archive.archiver import Archiver
from activities.archive.deleted_files import remove_deleted_calls
from activities.store import archives, deletions, overviews, schedules, sessions
from activities.store.database import Database
from activities.store.journal import session_journal
from workflows.domain.actor import Actor
from workflows.domain.errors import Conflict, HoldfastError
from workflows.domain.ids import MessageId, SessionId
from workflows.domain.views.accepted import DeletedSessions

_LOG: Final = logging.getLogger("holdfast.session")


class Deletion:
    """`data` has the files of calls; `host` is this machine's name in a shared database."""

    def __init__(self, database: Database, data: Path, host: str | None, actor: Actor) -> None:
        self._database = database
        self._data = data
        self._host = host
        self._archiver = Archiver(database, data, host)
        self._actor = actor
        self._failures: list[str] = []

    async def run(self, session: SessionId) -> DeletedSessions:
        """Subagents' sessions first. Raises NotFound, and Conflict if nothing can be deleted."""
        found = await overviews.get(self._database, session)
        if found.parent is not None:
            top = await archives.root_session(self._database, session)
            raise Conflict(f"Session {session!r} is a subagent's: it is deleted with the one above it, {top}.")
        if by := await schedules.of_session(self._database, session):
            raise Conflict(
                f"Schedule {by[0]} prompts session {session!r}: delete that first, `holdfast schedules delete {by[0]}`."
            )
        archive = Path(found.archive.file) if found.archive is not None else None
        if archive is not None:
            await self._bring_back(session, archive)
        tree = await sessions.tree(self._database, session)
        left = [each for each in tree if await deletions.is_left(self._database, each)]
        files = self._archives_of(session) | ({archive} if archive is not None else set())
        if not left:
            await self._remove_archives(files)  # of a deletion that was cut short
            raise Conflict(f"Session {session!r} was deleted already.")
        deleted = []
        for each in reversed(left):
            if await self._attempt(f"the contents of {each}", partial(self._erase, each, session)):
                deleted.append(each)
        if session in deleted:  # not before: just then it may have been archived
            await self._remove_archives(files)
        return await self._report(found.host, deleted)

    async def run_message(self, session: SessionId, message: MessageId) -> DeletedSessions:
        """Delete one message with the contents of its calls. Raises NotFound, Conflict."""
        found = await overviews.get(self._database, session)
        async with session_journal(self._database, session, self._actor) as journal:
            await deletions.erase_message(journal, message)
        await self._remove_archives(self._archives_of(await archives.root_session(self._database, session)))
        return await self._report(found.host)

    async def _report(self, host: str | None, deleted: Sequence[SessionId] = ()) -> DeletedSessions:
        """Remove the files if they are on this host, then report."""
        elsewhere = host if host not in (None, self._host) else None
        if elsewhere is None:
            await self._attempt("the files of its calls", partial(self._remove_files, host))
        return DeletedSessions(deleted=tuple(deleted), failures=tuple(self._failures), host=elsewhere)

    async def _bring_back(self, session: SessionId, archive: Path) -> None:
        """Restore an archived session, because its log must stay in the database."""
        if not archive.is_file():
            raise Conflict(
                f"Session {session!r} is archived, and its archive is not here: put it at {str(archive)!r}, and delete "
                "again, so that its log is kept. Delete other copies of that file by hand."
            )
        await self._archiver.restore(archive)

    def _archives_of(self, session: SessionId) -> set[Path]:
        whole = self._archiver.path(session)
        return {whole, draft_of(whole)}

    async def _remove_archives(self, files: set[Path]) -> None:
        """Remove archive files, which restoring a session and killed processes leave."""
        for file in files:
            await self._attempt(str(file), partial(asyncio.to_thread, file.unlink, missing_ok=True))

    async def _erase(self, session: SessionId, top: SessionId) -> None:
        async with session_journal(self._database, session, self._actor) as journal:
            await deletions.erase(journal, top if session != top else None)

    async def _remove_files(self, host: str | None) -> None:
        failures = await remove_deleted_calls(self._database, self._data, host)
        self._failures += [f"a file of a call, which is tried again within an hour: {each}" for each in failures]

    async def _attempt(self, what: str, step: Callable[[], Awaitable[None]]) -> bool:
        try:
            await step()
        except (HoldfastError, OSError) as error:
            self._failures.append(f"{what}: {error}")
            _LOG.warning("not deleted: %s: %s", what, error)
            return False
        return True
