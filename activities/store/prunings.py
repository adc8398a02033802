"""Prunings: how far the model sees old results of tools as cleared."""

from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.context.prune import SmallWindow, find_pruning
from workflows.domain.events.generations import ContextPruned
from workflows.domain.ids import PartId, TurnId
from workflows.domain.messages import Transcript
from workflows.domain.value import Value

_QUERIES: Final = Queries("prunings")


class PruningRow(Value):
    """From this step on, results up to and including that of `call` are cleared: about `tokens` more than before."""

    turn: TurnId
    step: int
    call: PartId
    tokens: int


def advance(
    journal: Journal,
    turn: TurnId,
    step: int,
    transcript: Transcript,
    last: PruningRow | None,
    small: SmallWindow | None,
) -> PruningRow | None:
    """Clear what a step may do without, where that is much. A second attempt finds what the first has left."""
    found = find_pruning(transcript, last.call if last else None, small)
    if found is None:
        return last
    row = PruningRow(turn=turn, step=step, **found.model_dump())
    journal.write(_QUERIES.insert, session=journal.session, **row.model_dump())
    journal.record(ContextPruned(turn=turn, **found.model_dump()))
    return row
