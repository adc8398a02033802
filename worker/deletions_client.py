"""Deletes sessions."""

from activities.store.database import Database
from worker.api.accepted import DeletedSessions
from worker.api.mapping import from_row
from worker.settings import Settings
from workflows.domain.actor import Actor
from workflows.domain.ids import SessionId


class DeletionsClient:
    """What `actor` deletes, with its files on this machine."""

    def __init__(self, database: Database, settings: Settings, actor: Actor) -> None:
        self._database = database
        self._settings = settings
        self._actor = actor

    async def delete(self, session: SessionId) -> DeletedSessions:
        """Erase all contents of an idle session and its subagents', and its archive; their logs stay. A step that fails
        does not stop the others. Raises NotFound, Conflict."""
        from activities.session.deletion import Deletion  # few need it

        deletion = Deletion(self._database, self._settings.home, self._settings.host, self._actor)
        return from_row(DeletedSessions, await deletion.run(session))
