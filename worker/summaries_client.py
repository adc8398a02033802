"""What a person has summed up."""

from collections.abc import Awaitable, Callable

from activities.new_ids import new_id
from activities.store import change_summaries
from activities.store.database import Database
from activities.store.journal import session_journal
from worker.api.accepted import AcceptedSummary
from workflows.domain.actor import Actor
from workflows.domain.ids import GenerationId, Prefix, SessionId


class SummariesClient:
    """No model is asked for a summary of changes unless a person wants one."""

    def __init__(self, database: Database, actor: Actor, deliver: Callable[[SessionId], Awaitable[bool]]) -> None:
        self.database = database
        self.actor = actor
        self.deliver = deliver

    async def ask(self, session: SessionId, *, generation: GenerationId | None = None) -> AcceptedSummary:
        """Have the model sum up what a session has changed, apart from its turns. Raises NotFound, Conflict."""
        generation = generation or GenerationId(new_id(Prefix.GENERATION))
        async with session_journal(self.database, session, self.actor) as journal:
            await change_summaries.ask(journal, generation)
        delivered = await self.deliver(session)
        return AcceptedSummary(session=session, generation=generation, delivered=delivered)
