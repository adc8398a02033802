"""Prunings: how far the model sees old results of tools as cleared."""

from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.context.prune import find_pruning
from workflows.domain.events.generations import ContextPruned
from workflows.domain.ids import PartId, TurnId
from workflows.domain.messages import Transcript
from workflows.domain.value import Value

_QUERIES: Final = Queries("prunings")


class PruningRow(Value):
    """From this turn on, results up to and including that of `call` are cleared: about `tokens` more than before."""

    turn: TurnId
    call: PartId
    tokens: int


def advance(journal: Journal, turn: TurnId, transcript: Transcript, last: PruningRow | None) -> PruningRow | None:
    """Clear what a turn may do without as it begins: then only its first request, not each, loses the provider's
    cache. A second attempt finds the row of the first."""
    if last is not None and last.turn == turn:
        return last
    earlier = tuple(entry for entry in transcript if entry.turn != turn)
    found = find_pruning(earlier, last.call if last else None)
    if found is None:
        return last
    row = PruningRow(turn=turn, **found.model_dump())
    journal.write(_QUERIES.insert, session=journal.session, **row.model_dump())
    journal.record(ContextPruned(turn=turn, **found.model_dump()))
    return row
