"""What every part of a person's client is made of."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from activities.store.database import Database
from worker.settings import Settings
from workflows.domain.actor import Actor
from workflows.domain.ids import SessionId

P = TypeVar("P", bound="ClientPart")


class ClientPart:
    """What `actor` does with one noun. `deliver` sends a session's signals: whether they were acknowledged."""

    def __init__(
        self, settings: Settings, database: Database, actor: Actor, deliver: Callable[[SessionId], Awaitable[bool]]
    ) -> None:
        self.settings = settings
        self.database = database
        self.actor = actor
        self.deliver = deliver

    def as_part(self, kind: type[P]) -> P:
        """Another part for the same person."""
        return kind(self.settings, self.database, self.actor, self.deliver)
