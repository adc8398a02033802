"""What a person does with the titles of sessions."""

from activities.store import titles
from activities.store.database import Database
from activities.store.journal import session_journal
from workflows.domain.actor import Actor
from workflows.domain.ids import SessionId
from workflows.domain.titles import validate_title


class TitlesClient:
    """A title that a person gives stays until a person wants another."""

    def __init__(self, database: Database, actor: Actor) -> None:
        self.database = database
        self.actor = actor

    async def give(self, session: SessionId, text: str) -> str:
        """Rename a session; the title as stored. Raises UsageError, NotFound, Conflict for an archived session."""
        title = validate_title(text)
        async with session_journal(self.database, session, self.actor) as journal:
            await journal.locked()
            titles.give(journal, title)
        return title
