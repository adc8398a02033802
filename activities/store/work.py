"""Work items: what makes a session work. Its oldest untaken one opens the next turn."""

from enum import StrEnum
from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.budgets import BudgetLimits
from workflows.domain.errors import Conflict
from workflows.domain.ids import MessageId, RetryId, TurnId
from workflows.domain.output_format import OutputFormat
from workflows.domain.value import Value
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("work")


class WorkKind(StrEnum):
    """Each kind has a table of its own, and its actions in `work_kinds`."""

    PROMPT = "prompt"
    RETRY = "retry"
    COMPACTION = "compaction"


class WorkItem(Value):
    """A row of `work`: a prompt's id is its message's."""

    id: str
    kind: WorkKind


class TurnRequest(Value):
    """The turn that an item becomes; agent, model and variant None: the session's; limits None: the configuration's.
    `instructed_by`: the prompt whose `system` is for it."""

    item: WorkItem
    agent: str | None
    model: str | None
    variant: str | None = None
    tools: dict[str, bool] | None = None
    format: OutputFormat | None = None
    limits: BudgetLimits | None = None
    instructed_by: MessageId | None = None
    retry: RetryId | None = None


async def was_accepted(journal: Journal, item: WorkItem) -> bool:
    """Raises Conflict for an id of another kind or session."""
    found = await journal.row(_QUERIES.find, id=item.id)
    if found is not None and (found["session"], found["kind"]) != (journal.session, item.kind):
        raise Conflict(
            f"The id {item.id!r} belongs to a {found['kind']} of session {found['session']!r}; use a new id."
        )
    return found is not None


def accept(journal: Journal, item: WorkItem, seq: int) -> None:
    """Store an item and its signal; `seq`: its event's."""
    journal.write(
        _QUERIES.accept,
        id=item.id,
        session=journal.session,
        kind=item.kind,
        accepted_seq=seq,
        author=journal.actor.subject,
    )
    journal.notify(WakeKind.WORK, item.id)


async def oldest_untaken(journal: Journal) -> WorkItem | None:
    return next(iter(await untaken(journal, limit=1)), None)


async def untaken(journal: Journal, limit: int | None = None) -> list[WorkItem]:
    """Untaken work in the order of acceptance."""
    return [WorkItem(**row) for row in await journal.rows(_QUERIES.untaken, session=journal.session, limit=limit)]


def take(journal: Journal, item: WorkItem, turn: TurnId) -> None:
    journal.write(_QUERIES.take, id=item.id, turn=turn)


def withdraw(journal: Journal, item: WorkItem) -> None:
    journal.write(_QUERIES.withdraw, id=item.id)
