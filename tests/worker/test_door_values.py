"""What the client gives to doors, and takes from them."""

import inspect
import typing
from collections.abc import Iterator
from typing import Any

from activities.archive.archiver import Archiver
from worker.archives_client import ArchivesClient
from worker.asides_client import AsidesClient
from worker.client import Holdfast
from worker.commands_client import CommandsClient
from worker.copies_client import CopiesClient
from worker.grants_client import GrantsClient
from worker.inbox_reader import InboxReader
from worker.outbox import SignalSender
from worker.record_reader import RecordReader
from worker.schedules_client import SchedulesClient
from worker.session_client import SessionClient
from worker.session_reader import SessionReader
from worker.trust_client import TrustClient
from workflows.domain.budgets import BudgetLimits
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.prompt import Prompt

PARTS = (Holdfast, SessionClient, InboxReader, SessionReader, RecordReader, GrantsClient, ArchivesClient)
# What their modules import for types alone.
LATER = {
    each.__name__: each
    for each in (
        Archiver,
        AsidesClient,
        BudgetLimits,
        CommandsClient,
        ConfigSources,
        CopiesClient,
        Prompt,
        SchedulesClient,
        SignalSender,
        TrustClient,
        TurnConfig,
    )
}


def test_doors_neither_get_nor_give_values_of_the_store() -> None:
    found = [
        f"{part.__name__}.{name}: {used.__module__}.{used.__name__}"
        for part in PARTS
        for name, method in inspect.getmembers(part, inspect.isfunction)
        if not name.startswith("_")
        for hint in typing.get_type_hints(method, localns=LATER).values()
        for used in classes(hint)
        if used.__module__.startswith("activities")
    ]
    assert found == []


def classes(hint: Any) -> Iterator[type]:
    """The classes in a type."""
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for each in typing.get_args(hint):
        yield from classes(each)
