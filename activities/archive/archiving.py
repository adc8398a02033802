"""Archiving: old sessions go from the database into files, and come back when somebody wants them."""

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Final

from activities.archive import file
from activities.archive.file import Damaged, Head, Manifest
from activities.archive.verifying import verify
from activities.failpoints import failpoint
from activities.store import archives, sessions
from activities.store.archives import Archivable
from activities.store.database import Database
from activities.store.sessions import Archived
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import PartId, SessionId

_LOG: Final = logging.getLogger("holdfast.archive")


class Archivist:
    """Keeps archives in a directory of Holdfast's home, which is `data`, for the sessions of the same host: what their
    commands have left is there. Whatever is cut short is done again."""

    def __init__(self, database: Database, data: Path, host: str | None = None) -> None:
        self.database = database
        self.data = data
        self.host = host

    async def all_since(self, before: datetime) -> list[Path]:
        """Archive the sessions that have not changed since `before` and wait for nothing; their files."""
        written: list[Path] = []
        async with archives.archiving(self.database) as mine:
            for found in await archives.old(self.database, before, self.host) if mine else ():
                if found.obstacle is None:
                    try:
                        written.append(await self._archive(found, before))
                    except Conflict as error:
                        _LOG.info("%s", error)
        return written

    async def one(self, session: SessionId) -> Path:
        """Archive a session, however young. Raises NotFound, Conflict where it waits for something."""
        now = await self.database.now()
        async with archives.archiving(self.database) as mine:
            if not mine:
                raise Unavailable("Another process archives just now: try again.")
            found = await archives.old(self.database, now, self.host, session)
            if not found:
                raise await self._unarchivable(session)
            if found[0].obstacle is not None:
                raise Conflict(f"Session {session!r} cannot be archived yet. {found[0].obstacle}.")
            return await self._archive(found[0], now)

    async def _unarchivable(self, session: SessionId) -> Conflict:
        """Why there is nothing to archive under this id. Raises NotFound."""
        found = await sessions.get(self.database, session)
        if found.archive is not None:
            return Conflict(f"Session {session!r} {found.archive}.")
        root = await archives.root(self.database, session)
        if root == session:
            return Conflict(f"Session {session!r} was not archived: something happens to it just now. Try again.")
        return Conflict(
            f"Session {session!r} is a subagent's, and is archived with the one that it works for: "
            f"`holdfast archive {root}` moves both."
        )

    async def restore(self, path: Path) -> Manifest:
        """Bring the sessions of an archive back; the file stays. Raises UsageError, Conflict."""
        await asyncio.to_thread(checked, path)
        manifest = file.manifest(path)
        ends = {head.session: (head.seq, head.head) for head in manifest.sessions}
        async with archives.restoring(self.database, ends) as restore:
            for table, rows in groupby(file.rows(path), key=lambda each: each[0]):
                await restore.rows(table, (row for _, row in rows))
        return manifest

    async def _archive(self, which: Archivable, before: datetime) -> Path:
        """First the file, checked and on the disk, then the removal, in one transaction. Raises Conflict."""
        path = self.data / "archive" / f"{which.session}{file.SUFFIX}"
        now = datetime.now(UTC)
        await self._write(path, which, now)
        await asyncio.to_thread(checked, path)
        await failpoint("archive.written", which.session)
        archived = Archived(file=str(path), sha256=await asyncio.to_thread(_digest, path), at=now)
        calls = await archives.remove(self.database, which, before, archived)
        await failpoint("archive.removed", which.session)
        await asyncio.to_thread(_forget, self.data, calls)
        _LOG.info("archived %s in %s", which.session, path)
        return path

    async def _write(self, path: Path, which: Archivable, at: datetime) -> None:
        heads = [
            Head(session=each, seq=seq, head=head) for each, (seq, head) in zip(which.sessions, which.ends, strict=True)
        ]
        manifest = Manifest(holdfast=version("holdfast"), at=at, sessions=tuple(heads))
        with file.writing(path) as writer:
            writer.manifest(manifest)
            async with archives.export(self.database, which.sessions) as exported:
                for table in archives.TABLES:
                    async for rows in exported.rows(table):
                        await asyncio.to_thread(writer.rows, table, rows)


def checked(path: Path) -> None:
    """See that an archive is whole and holds what it says. Raises Damaged."""
    for verified in verify(path):
        if verified.problem is not None:
            raise Damaged(path, f"{verified.session}: {verified.problem}")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _forget(data: Path, calls: Sequence[PartId]) -> None:
    """Remove what belongs to the calls outside of the database; what a crash leaves goes with its age."""
    for call in calls:
        shutil.rmtree(data / "calls" / call, ignore_errors=True)
        (data / "tool-output" / f"tool_{call}").unlink(missing_ok=True)
