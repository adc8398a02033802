"""Values of the API: made from rows of the store, and free of them."""

import inspect
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from activities.archive.archiver import Archiver
from activities.session.answers import AnswerResult
from activities.store.asks import AskRow
from activities.store.completions import CompletionRow
from activities.store.deltas import DeltaRow
from activities.store.events import ChainVerification
from activities.store.grants import GrantRow
from activities.store.overviews import BackoffRow, OverviewRow, SuspensionRow
from activities.store.sessions import Origin, TotalsRow
from activities.store.stops import StopRequested
from activities.store.transcript import CallTimesRow, MessageRow
from activities.store.turns import UnfinishedTurnRow
from activities.store.waiting_items import InboxRow, SuspendedRow
from worker.api.accepted import AcceptedAnswer, AcceptedStop, SettledAsk
from worker.api.events import PublishedDelta, Verification
from worker.api.grants import GrantEntry
from worker.api.inbox import Completion, InboxEntry, SuspendedSession
from worker.api.mapping import from_row
from worker.api.messages import CallTimes, MessageDetails
from worker.api.sessions import Overview, ProviderBackoff, SessionOrigin, Suspension, Totals, UnfinishedTurn
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
from workflows.domain.value import Value

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
ROWS: dict[type[Value], type[Value]] = {
    AcceptedAnswer: AnswerResult,
    AcceptedStop: StopRequested,
    CallTimes: CallTimesRow,
    Completion: CompletionRow,
    PublishedDelta: DeltaRow,
    GrantEntry: GrantRow,
    InboxEntry: InboxRow,
    MessageDetails: MessageRow,
    Overview: OverviewRow,
    ProviderBackoff: BackoffRow,
    SessionOrigin: Origin,
    SettledAsk: AskRow,
    SuspendedSession: SuspendedRow,
    Suspension: SuspensionRow,
    Totals: TotalsRow,
    UnfinishedTurn: UnfinishedTurnRow,
    Verification: ChainVerification,
}


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_each_field_of_a_value_is_in_the_row_that_it_is_made_from(kind: type[Value]) -> None:
    row = ROWS[kind]
    needed = {str(field.validation_alias or name) for name, field in kind.model_fields.items()}
    assert needed <= {*row.model_fields, *(name for name in vars(row) if isinstance(vars(row)[name], property))}


def test_a_row_may_have_more_than_the_value_made_from_it() -> None:
    class StopRow(StopRequested):
        more: int = 1

    given = {"stop": "stp_1", "turn": None, "withdrawn": ("msg_1",), "background": ("ses_1",)}
    assert from_row(AcceptedStop, StopRow.model_validate(given)).model_dump() == given


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
