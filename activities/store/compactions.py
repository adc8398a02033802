"""Compactions: summaries that stand for the beginning of a session's context."""

from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.events.generations import ContextCompacted
from workflows.domain.ids import GenerationId, MessageId, SessionId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("compactions")


class CompactionRow(Value):
    """Its answer stands for all up to and with the answer of this turn's step. `newest`: the newest answer then."""

    generation: GenerationId
    turn: TurnId
    step: int
    newest: MessageId


class NewCompaction(Value):
    """What a summary stands for, as in `CompactionRow`, and the earlier one that it `replaces`. `before` and `after` as
    in `ContextCompacted`."""

    turn: TurnId
    step: int
    newest: MessageId
    replaces: GenerationId | None = None
    before: int
    after: int


def store(journal: Journal, generation: GenerationId, new: NewCompaction, cost: str | None) -> None:
    """In the transaction that stores the summary: an interruption leaves the context before or the one after."""
    row = new.model_dump(include={"turn", "step", "newest"})
    journal.write(_QUERIES.insert, generation=generation, session=journal.session, **row)
    journal.record(ContextCompacted(generation=generation, cost=cost, **new.model_dump(exclude={"newest", "replaces"})))


async def newest(reader: RowReader, session: SessionId) -> CompactionRow | None:
    rows = await reader.rows(_QUERIES.newest, session=session)
    return CompactionRow(**rows[0]) if rows else None
