"""The parts of a person's client."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING

from activities.store.database import Database
from worker.inbox_reader import InboxReader
from worker.settings import Settings
from workflows.domain.actor import Actor
from workflows.domain.ids import SessionId

if TYPE_CHECKING:  # start-up time
    from worker.archives_client import ArchivesClient
    from worker.asides_client import AsidesClient
    from worker.commands_client import CommandsClient
    from worker.copies_client import CopiesClient
    from worker.deletions_client import DeletionsClient
    from worker.grants_client import GrantsClient
    from worker.record_reader import RecordReader
    from worker.schedules_client import SchedulesClient
    from worker.session_reader import SessionReader
    from worker.trust_client import TrustClient
    from worker.waits_client import WaitsClient


class ClientParts:
    """What a client offers for each noun: made on first use, as a command needs few of them."""

    def __init__(
        self, settings: Settings, database: Database, actor: Actor, deliver: Callable[[SessionId], Awaitable[bool]]
    ) -> None:
        self.settings = settings
        self.database = database
        self.actor = actor
        self.deliver = deliver
        self.inbox = InboxReader(database)

    @cached_property
    def sessions(self) -> "SessionReader":
        from worker.session_reader import SessionReader  # start-up time

        return SessionReader(self.database, self.settings.host)

    @cached_property
    def records(self) -> "RecordReader":
        from worker.record_reader import RecordReader  # as above

        return RecordReader(self.sessions)

    @cached_property
    def copies(self) -> "CopiesClient":
        from worker.copies_client import CopiesClient  # as above

        return CopiesClient(self.database, self.settings, self.actor)

    @cached_property
    def commands(self) -> "CommandsClient":
        from worker.commands_client import CommandsClient  # as above

        return CommandsClient(self.database, self.settings)

    @cached_property
    def archives(self) -> "ArchivesClient":
        from worker.archives_client import ArchivesClient  # as above

        return ArchivesClient(self.sessions, self.settings)

    @cached_property
    def asides(self) -> "AsidesClient":
        from worker.asides_client import AsidesClient  # as above

        return AsidesClient(self.database, self.actor, self.deliver)

    @cached_property
    def trust(self) -> "TrustClient":
        from worker.trust_client import TrustClient  # as above

        return TrustClient(self.database, self.settings.host, self.actor)

    @cached_property
    def schedules(self) -> "SchedulesClient":
        from worker.schedules_client import SchedulesClient  # as above

        return SchedulesClient(self.database, self.settings, self.actor, self.deliver)

    @cached_property
    def grants(self) -> "GrantsClient":
        from worker.grants_client import GrantsClient  # as above

        return GrantsClient(self.database, self.actor)

    @cached_property
    def deletions(self) -> "DeletionsClient":
        from worker.deletions_client import DeletionsClient  # as above

        return DeletionsClient(self.database, self.settings, self.actor)

    @cached_property
    def waits(self) -> "WaitsClient":
        from worker.waits_client import WaitsClient  # as above

        return WaitsClient(self.database, self.actor, self.deliver)
