"""The kinds of work and their actions: a new kind is a module and a line here."""

from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass
from typing import Final

from activities.store import compaction_requests, prompts, retries, work
from activities.store.journal import Journal
from activities.store.work import TurnRequest, WorkItem, WorkKind
from workflows.domain.ids import TurnId


@dataclass(frozen=True)
class WorkActions:
    """The actions of a kind's items; each records its event.

    `request_turn`: the turn that an item becomes; None when it has withdrawn the item.
    """

    request_turn: Callable[[Journal, WorkItem], Awaitable[TurnRequest | None]]
    take: Callable[[Journal, WorkItem, TurnId], None]
    withdraw: Callable[[Journal, WorkItem, str], None]


ACTIONS: Final[Mapping[WorkKind, WorkActions]] = {
    WorkKind.PROMPT: WorkActions(prompts.request_turn, prompts.begin_turn, prompts.withdraw_one),
    WorkKind.RETRY: WorkActions(retries.request_turn, work.take, retries.withdraw),
    WorkKind.COMPACTION: WorkActions(
        compaction_requests.request_turn, compaction_requests.take, compaction_requests.withdraw
    ),
}


async def next_turn(journal: Journal) -> TurnRequest | None:
    while (item := await work.oldest_untaken(journal)) is not None:
        if (requested := await ACTIONS[item.kind].request_turn(journal, item)) is not None:
            return requested
    return None


def take(journal: Journal, item: WorkItem, turn: TurnId) -> None:
    ACTIONS[item.kind].take(journal, item, turn)


async def withdraw_untaken(journal: Journal, reason: str, keep: Container[WorkKind] = ()) -> list[WorkItem]:
    """Returns the withdrawn items."""
    withdrawn = [item for item in await work.untaken(journal) if item.kind not in keep]
    for item in withdrawn:
        ACTIONS[item.kind].withdraw(journal, item, reason)
    return withdrawn
