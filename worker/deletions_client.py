"""Deletes sessions, and messages of theirs."""

from activities.session.deletion import Deletion
from worker.client_part import ClientPart
from workflows.domain.ids import MessageId, SessionId
from workflows.domain.views.accepted import DeletedMessage, DeletedSessions


class DeletionsClient(ClientPart):
    """What `actor` deletes, with its files on this machine."""

    async def delete(self, session: SessionId) -> DeletedSessions:
        """Erase all contents of an idle session and its subagents', and its archive; their logs stay. A step that fails
        does not stop the others. Raises NotFound, Conflict."""
        return await self._deletion().run(session)

    async def delete_message(self, session: SessionId, message: MessageId) -> DeletedMessage:
        """Erase what a prompt or an answer holds, with its calls; a word stands in its place. Raises NotFound, and
        Conflict for what an open turn needs."""
        report = await self._deletion().run_message(session, message)
        named = report.model_dump(include={"failures", "host"})
        return DeletedMessage(session=session, message=message, **named)

    def _deletion(self) -> Deletion:
        return Deletion(self.database, self.settings.home, self.settings.host, self.actor)
