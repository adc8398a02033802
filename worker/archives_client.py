"""Moves sessions into files, and back."""

from pathlib import Path
from typing import TYPE_CHECKING

from activities.archive import verification
from worker.api.events import Verification
from worker.api.mapping import from_rows
from worker.session_reader import SessionReader
from worker.settings import Settings
from workflows.domain.ids import SessionId

if TYPE_CHECKING:
    from activities.archive.archiver import Archiver


class ArchivesClient:
    """Archives of this machine's sessions."""

    def __init__(self, sessions: SessionReader, settings: Settings) -> None:
        self.sessions = sessions
        self.settings = settings

    async def archive(self, session: SessionId) -> Path:
        """Move an idle session with its subagents. Raises NotFound, Conflict."""
        return await self._archiver().archive_one((await self.sessions.require_unarchived(session)).id)

    async def restore(self, archive: Path) -> SessionId:
        """Restore an archive; returns its first session. Raises UsageError, Conflict."""
        return (await self._archiver().restore(archive)).session

    def _archiver(self) -> "Archiver":
        from activities.archive.archiver import Archiver  # start-up time: few commands need it

        return Archiver(self.sessions.database, self.settings.home, self.settings.host)


def verify_archive(path: Path) -> list[Verification]:
    """Recompute the hash chains in an archive; needs no database. Raises DamagedArchive."""
    return from_rows(Verification, verification.verify(path))
