"""What a person has a model asked apart from a session's turns, and the title that a person gives."""

from activities.new_ids import new_id
from activities.store import asides
from activities.store.journal import session_journal
from worker.client_part import ClientPart
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, Prefix, SessionId
from workflows.domain.titles import validate_title
from workflows.domain.views.accepted import AcceptedAside


class AsidesClient(ClientPart):
    """A title that a person gives stays until a person wants another; a summary of changes is made for a person
    alone."""

    async def give_title(self, session: SessionId, text: str) -> str:
        """Rename a session; the title as stored. Raises UsageError, NotFound, Conflict for an archived session."""
        title = validate_title(text)
        async with session_journal(self.database, session, self.actor) as journal:
            await journal.locked()
            asides.give_title(journal, title)
        return title

    async def ask(
        self, session: SessionId, purpose: Purpose, *, generation: GenerationId | None = None
    ) -> AcceptedAside:
        """Have the model name a session again, or sum up what it has changed. Raises NotFound, Conflict."""
        generation = generation or GenerationId(new_id(Prefix.GENERATION))
        async with session_journal(self.database, session, self.actor) as journal:
            await asides.ask(journal, purpose, generation)
        delivered = await self.deliver(session)
        return AcceptedAside(session=session, generation=generation, delivered=delivered)
