"""Moves old sessions from the database into files, and restores them."""

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Final

from activities.archive import archive_file
from activities.archive.archive_file import LogEnd, Manifest
from activities.archive.verification import verify
from activities.failpoints import failpoint
from activities.store import archives, overviews
from activities.store.archives import ArchiveCandidate
from activities.store.database import Database
from workflows.domain.errors import Conflict, DamagedArchive, Unavailable
from workflows.domain.ids import PartId, SessionId
from workflows.domain.views.sessions import ArchiveLocation

_LOG: Final = logging.getLogger("holdfast.archive")


class Archiver:
    """Archives one host's sessions under `data`, the data directory. The next run repeats one that was cut short."""

    def __init__(self, database: Database, data: Path, host: str | None = None) -> None:
        self.database = database
        self.data = data
        self.host = host

    def path(self, session: SessionId) -> Path:
        """Where the archive of a session is written."""
        return self.data / "archive" / f"{session}{archive_file.SUFFIX}"

    async def archive_older_than(self, before: datetime) -> list[Path]:
        """Archive the sessions unchanged since `before` that wait for nothing; returns the files."""
        written: list[Path] = []
        async with archives.archive_lock(self.database) as mine:
            for found in await archives.candidates(self.database, before, self.host) if mine else ():
                if found.obstacle is None:
                    try:
                        written.append(await self._archive(found, before))
                    except Conflict as error:
                        _LOG.info("%s", error)
        return written

    async def archive_one(self, session: SessionId) -> Path:
        """Archive a session of any age. Raises NotFound, Conflict if it waits for something."""
        now = await self.database.now()
        async with archives.archive_lock(self.database) as mine:
            if not mine:
                raise Unavailable("Another process is archiving: try again.")
            found = await archives.candidates(self.database, now, self.host, session)
            if not found:
                raise await self._why_not_archivable(session)
            if found[0].obstacle is not None:
                raise Conflict(f"Session {session!r} cannot be archived yet. {found[0].obstacle}.")
            return await self._archive(found[0], now)

    async def _why_not_archivable(self, session: SessionId) -> Conflict:
        found = await overviews.get(self.database, session)
        if found.archive is not None:
            return Conflict(f"Session {session!r} {found.archive}.")
        if found.status == "deleted":
            return Conflict(f"Session {session!r} was deleted: there is nothing to archive.")
        root = await archives.root_session(self.database, session)
        if root == session:
            return Conflict(f"Session {session!r} was not archived: it is being changed at the moment. Try again.")
        return Conflict(
            f"Session {session!r} is a subagent's, and is archived with the one that it works for: "
            f"`holdfast archive {root}` moves both."
        )

    async def restore(self, path: Path) -> Manifest:
        """The file stays. Raises UsageError, Conflict."""
        await asyncio.to_thread(check_archive, path)
        manifest = archive_file.read_manifest(path)
        ends = {head.session: (head.seq, head.head) for head in manifest.sessions}
        async with archives.open_restore(self.database, ends) as restore:
            for table, rows in groupby(archive_file.read_rows(path), key=lambda each: each[0]):
                await restore.rows(table, (row for _, row in rows))
        return manifest

    async def _archive(self, which: ArchiveCandidate, before: datetime) -> Path:
        """Checks the file before removing the rows, in one transaction. Raises Conflict."""
        path = self.path(which.session)
        now = datetime.now(UTC)
        await self._write(path, which, now)
        await asyncio.to_thread(check_archive, path)
        await failpoint("archive.written", which.session)
        archived = ArchiveLocation(file=str(path), sha256=await asyncio.to_thread(_digest, path), at=now)
        calls = await archives.remove(self.database, which, before, archived)
        await failpoint("archive.removed", which.session)
        for failure in await asyncio.to_thread(remove_call_files, self.data, calls):
            _LOG.warning("a file of an archived call stays, and is removed by age: %s", failure)
        _LOG.info("archived %s in %s", which.session, path)
        return path

    async def _write(self, path: Path, which: ArchiveCandidate, at: datetime) -> None:
        heads = [
            LogEnd(session=each, seq=seq, head=head)
            for each, (seq, head) in zip(which.sessions, which.ends, strict=True)
        ]
        manifest = Manifest(holdfast=version("holdfast"), at=at, sessions=tuple(heads))
        with archive_file.open_writer(path) as writer:
            writer.manifest(manifest)
            async with archives.export(self.database, which.sessions) as exported:
                for table in archives.TABLES:
                    async for rows in exported.rows(table):
                        await asyncio.to_thread(writer.rows, table, rows)


def check_archive(path: Path) -> None:
    """Raises DamagedArchive."""
    for verified in verify(path):
        if verified.problem is not None:
            raise DamagedArchive(path, f"{verified.session}: {verified.problem}")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remove_call_files(data: Path, calls: Iterable[PartId]) -> list[str]:
    """Remove the files of calls whose rows are gone, and end what those have left running. Returns why some stay; those
    that remain after a crash are removed by age."""
    from activities.shell.termination import end_left_call  # start-up time: psutil

    failures = []
    for call in calls:
        try:
            end_left_call(data, call)
            with suppress(FileNotFoundError):
                shutil.rmtree(data / "calls" / call)
            (data / "tool-output" / f"tool_{call}").unlink(missing_ok=True)
        except OSError as error:
            failures.append(str(error))
    return failures
