"""Stops: they name the turn that they stop, and are applied to it at most once."""

from collections.abc import Collection
from typing import Final

from activities.store import parks, prompts, retries
from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.events import StopAccepted
from workflows.domain.ids import MessageId, StopId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("stops")
_TURNS: Final = Queries("turns")


class Stopped(Value):
    """What an accepted stop does: which turn it ends (None: none was open), which prompts it withdrew."""

    stop: StopId
    turn: TurnId | None
    withdrawn: tuple[MessageId, ...] = ()


async def accept(opened: Journal, stop: StopId, *, keep_queued: bool = False) -> Stopped:
    """Accept a stop of the open turn, and withdraw what no turn has taken (kept with `keep_queued`): nothing is left
    then for which a session would have to stay parked.

    The same stop again changes nothing: it stays with the turn that it named first.
    """
    known = await opened.row(_QUERIES.find, id=stop)
    if known is not None:
        return Stopped(stop=stop, turn=known["turn"])
    turn = await opened.row(_TURNS.open_turn, session=opened.session)
    named = turn["id"] if turn else None
    opened.write(_QUERIES.accept, id=stop, session=opened.session, turn=named, author=opened.actor.subject)
    opened.record(StopAccepted(stop=stop, turn=named))
    await retries.withdraw(opened, "stopped")
    if not keep_queued:
        parks.settle(opened)
    withdrawn = [] if keep_queued else await prompts.withdraw(opened, "stopped")
    return Stopped(stop=stop, turn=named, withdrawn=tuple(withdrawn))


async def due(database: Database, turns: Collection[TurnId]) -> set[TurnId]:
    """Those of these turns that are open and are to stop: a stop names them, or their session has ended."""
    return {row["id"] for row in await database.rows(_QUERIES.due, turns=list(turns))}
