"""Stops: each names a turn, and is applied at most once."""

from collections.abc import Collection
from typing import Final

from activities.store import suspensions, tasks, work_kinds
from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.work import WorkKind
from workflows.domain.events.stops import StopAccepted
from workflows.domain.ids import MessageId, PartId, Prefix, SessionId, StopId, TurnId
from workflows.domain.views.accepted import AcceptedStop
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("stops")
_TURNS: Final = Queries("turns")


async def accept(journal: Journal, stop: StopId, *, keep_queued: bool = False) -> AcceptedStop:
    """Stop the open turn and the background tasks. Without `keep_queued`, withdraw all untaken work and close the
    suspension. Repeating it changes nothing."""
    known = await journal.row(_QUERIES.find, id=stop)
    if known is not None:
        return AcceptedStop(stop=stop, turn=known["turn"])
    turn = await journal.row(_TURNS.open_turn, session=journal.session)
    named = turn["id"] if turn else None
    journal.write(_QUERIES.accept, id=stop, session=journal.session, turn=named, author=journal.actor.subject)
    journal.record(StopAccepted(stop=stop, turn=named))
    if named is not None:
        journal.notify(WakeKind.STOP, stop, named)
    if not keep_queued:
        suspensions.settle(journal)
    items = await work_kinds.withdraw_untaken(journal, "stopped", {WorkKind.PROMPT} if keep_queued else ())
    withdrawn = tuple(MessageId(item.id) for item in items if item.kind is WorkKind.PROMPT)
    return AcceptedStop(stop=stop, turn=named, withdrawn=withdrawn, background=await stop_background(journal))


async def stop_background(journal: Journal) -> tuple[SessionId, ...]:
    """Stop the session's background tasks. Their ends do not wake it: its next turn learns of them."""
    working = await tasks.in_background(journal)
    for each in working:
        async with journal.child_journal(each.child) as child:
            await accept(child, stop_of_call(each.call))
    tasks.hold(journal)  # behind the locks of the children, whose ends lock these rows
    return tuple(each.child for each in working)


def stop_of_call(call: PartId) -> StopId:
    """The id of the stop for a call's subagent, the same for every attempt."""
    return StopId(f"{Prefix.STOP}{call.removeprefix(Prefix.PART)}")


async def turns_to_stop(database: Database, turns: Collection[TurnId]) -> set[TurnId]:
    """The turns that a stop names, or whose session has ended."""
    return {row["id"] for row in await database.rows(_QUERIES.turns_to_stop, turns=list(turns))}
