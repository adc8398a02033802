"""Begins sessions with the messages of others."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from activities.new_ids import new_id
from activities.session import forks
from activities.session.imports import import_session
from activities.store.sessions import NewSession
from worker.client_part import ClientPart
from worker.opencode.import_file import read_import
from worker.opencode.import_session import SessionImport
from worker.project_config import load_project_config, sources_of
from workflows.domain.config.sources import ConfigSources
from workflows.domain.copied_messages import ImportedSession
from workflows.domain.ids import MessageId, Prefix, SessionId
from workflows.domain.views.accepted import AcceptedFork, ImportedFile


class CopiesClient(ClientPart):
    """What `actor` copies."""

    async def fork_session(
        self, session: SessionId, *, before: MessageId | None = None, fork: SessionId | None = None
    ) -> AcceptedFork:
        """Start a new session with the messages of another one, those before a message or all; idempotent with an id.

        Grants, rules and to-dos are not copied. Raises NotFound, Conflict.
        """
        new = fork or SessionId(new_id(Prefix.SESSION))
        return await forks.fork_session(self.database, session, new, before, self.actor)

    async def import_session(
        self,
        path: Path,
        directory: str,
        *,
        environment: Mapping[str, str] | None = None,
        sources: ConfigSources | None = None,
    ) -> ImportedFile:
        """Begin a session in `directory` with the messages of an export. It keeps its ids, unless one of them is taken.
        Raises UsageError for a file that is no export."""
        found, sources = await asyncio.to_thread(read_import, path), sources or sources_of(self.settings)
        turn_config = await load_project_config(self.settings, Path(directory), sources=sources, database=self.database)
        row = NewSession(
            id=SessionId(""),
            host=self.settings.host,
            directory=directory,
            worktree=turn_config.worktree or directory,
            vcs="git" if turn_config.worktree else None,
            title="",
            agent=turn_config.agent.name,
            environment=dict(environment or {}),
            sources=sources,
        )

        ids = found.ids if found.regular else []

        def make(taken: bool) -> ImportedSession:
            new_ids = taken or not found.regular
            return SessionImport(found, turn_config, self.actor.subject, new_ids=new_ids).make()

        imported = await import_session(self.database, row, ids, make, self.actor)
        same, count = imported.id == imported.origin, len(imported.messages)
        return ImportedFile(session=imported.id, title=imported.title, messages=count, same_ids=same)
