"""What a person does with the titles of sessions."""

from collections.abc import Awaitable, Callable

from activities.new_ids import new_id
from activities.store import titles
from activities.store.database import Database
from activities.store.journal import session_journal
from worker.api.accepted import AcceptedTitle
from workflows.domain.actor import Actor
from workflows.domain.ids import GenerationId, Prefix, SessionId
from workflows.domain.titles import validate_title


class TitlesClient:
    """A title that a person gives stays until a person wants another."""

    def __init__(self, database: Database, actor: Actor, deliver: Callable[[SessionId], Awaitable[bool]]) -> None:
        self.database = database
        self.actor = actor
        self.deliver = deliver

    async def give(self, session: SessionId, text: str) -> str:
        """Rename a session; the title as stored. Raises UsageError, NotFound, Conflict for an archived session."""
        title = validate_title(text)
        async with session_journal(self.database, session, self.actor) as journal:
            await journal.locked()
            titles.give(journal, title)
        return title

    async def ask(self, session: SessionId, *, generation: GenerationId | None = None) -> AcceptedTitle:
        """Have the model name a session again, apart from its turns. Raises NotFound, Conflict."""
        generation = generation or GenerationId(new_id(Prefix.GENERATION))
        async with session_journal(self.database, session, self.actor) as journal:
            await titles.ask(journal, generation)
        delivered = await self.deliver(session)
        return AcceptedTitle(session=session, generation=generation, delivered=delivered)
