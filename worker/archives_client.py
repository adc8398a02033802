"""Moves sessions into files, and back."""

from pathlib import Path

from activities.archive import verification
from activities.archive.archiver import Archiver
from worker.client_part import ClientPart
from worker.session_reader import SessionReader
from workflows.domain.ids import SessionId
from workflows.domain.views.sessions import Verification


class ArchivesClient(ClientPart):
    """Archives of this machine's sessions."""

    async def archive(self, session: SessionId) -> Path:
        """Move an idle session with its subagents. Raises NotFound, Conflict."""
        return await self._archiver().archive_one((await self.as_part(SessionReader).require_unarchived(session)).id)

    async def restore(self, archive: Path) -> SessionId:
        """Restore an archive; returns its first session. Raises UsageError, Conflict."""
        return (await self._archiver().restore(archive)).session

    def _archiver(self) -> Archiver:
        return Archiver(self.database, self.settings.home, self.settings.host)


def verify_archive(path: Path) -> list[Verification]:
    """Recompute the hash chains in an archive; needs no database. Raises DamagedArchive."""
    return verification.verify(path)
