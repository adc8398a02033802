"""The parts of a person's client."""

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final

from worker.client_part import ClientPart
from worker.inbox_reader import InboxReader

if TYPE_CHECKING:
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

_MODULES: Final = {"sessions": "session_reader", "records": "record_reader"}


class ClientParts(ClientPart):
    """What a client offers for each noun."""

    sessions: "SessionReader"
    records: "RecordReader"
    copies: "CopiesClient"
    commands: "CommandsClient"
    archives: "ArchivesClient"
    asides: "AsidesClient"
    schedules: "SchedulesClient"
    grants: "GrantsClient"
    deletions: "DeletionsClient"
    waits: "WaitsClient"

    def __getattr__(self, noun: str) -> object:
        """Import a part at its first use, as a command needs few of them: here alone, its methods import nothing."""
        kind = ClientParts.__annotations__.get(noun)
        if kind is None:
            raise AttributeError(noun)
        module = import_module(f"worker.{_MODULES.get(noun, f'{noun}_client')}")
        part: ClientPart = self.as_part(getattr(module, kind))
        self.__dict__[noun] = part
        return part

    @cached_property
    def inbox(self) -> InboxReader:
        return InboxReader(self.database)

    @cached_property
    def trust(self) -> "TrustClient":
        from worker.trust_client import TrustClient  # start-up time

        return TrustClient(self.database, self.settings.host, self.actor)
