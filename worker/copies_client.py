"""Begins sessions with the messages of others."""

from activities.mint import new_id
from activities.store.database import Database
from worker.api.accepted import AcceptedFork
from worker.api.mapping import from_row
from workflows.domain.actor import Actor
from workflows.domain.ids import MessageId, Prefix, SessionId


class CopiesClient:
    """What `actor` copies."""

    def __init__(self, database: Database, actor: Actor) -> None:
        self._database = database
        self._actor = actor

    async def fork_session(
        self, session: SessionId, *, before: MessageId | None = None, fork: SessionId | None = None
    ) -> AcceptedFork:
        """Begin another session with the messages of one, those before a message or all; idempotent with an id.

        Grants, rules and to-dos are not copied. Raises NotFound, Conflict.
        """
        from activities.session import forks  # few need it

        new = fork or SessionId(new_id(Prefix.SESSION))
        return from_row(AcceptedFork, await forks.fork_session(self._database, session, new, before, self._actor))
