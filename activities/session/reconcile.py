"""Repairs a session that has something to do and does not move."""

from typing import Final

from activities.store import asks, calls, reconcile, reservations, suspensions
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import Journal, session_journal
from activities.store.reconcile import DueSession
from activities.store.reservations import AsideReservation
from workflows.domain.actor import Actor
from workflows.domain.events.sessions import SessionRefreshed, SessionRestarted
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import AskState
from workflows.domain.repairs import Repair, next_repair
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wake_signal import WakeKind

RECONCILE: Final = Actor(subject="worker", method="reconcile")


async def repair(database: Database, due: DueSession, run: str | None, *, unserved: bool = False) -> Repair | None:
    """Record the next repair, with its signal; `run` is open but does nothing, and a refresh cannot reach it if no
    worker serves its queue. None: the session has moved, or waits after all."""
    async with session_journal(database, due.session, RECONCILE) as journal:
        await journal.locked()
        if journal.version.seq != due.seq or await waits(journal, due):
            return None
        chosen = Repair.RESTART if unserved else next_repair(run, due.run, due.refreshes, due.restarts)
        if chosen is Repair.SUSPEND:
            reconcile.forget(journal)
            await suspensions.suspend(journal, _cause(due))
            return chosen
        if chosen is Repair.RESTART:
            seq = journal.record(SessionRestarted(run=run, restarts=due.restarts + 1))
            reconcile.record(journal, run, 0, due.restarts + 1)
        else:
            seq = journal.record(SessionRefreshed(run=run, refreshes=due.refreshes + 1))
            reconcile.record(journal, run, due.refreshes + 1, due.restarts)
        journal.notify(WakeKind.REFRESH, str(seq))
        return chosen


async def settle_aside(database: Database, held: AsideReservation) -> bool:
    """Count what a request beside the turns has used that nothing asks any more. False: it was settled meanwhile."""
    async with session_journal(database, held.session, RECONCILE) as journal:
        ended = await reservations.release(journal, held.generation)
        if ended is not None:
            reservations.charge(journal, ended)
        return ended is not None


async def waits(journal: Journal, due: DueSession) -> bool:
    """Whether each ready call waits after all: for an ask whose answer no event explains."""
    if due.turn is None or due.step is None or due.interrupted or not due.ready:
        return False
    rows = await calls.of_step(journal, due.turn, due.step)
    return all([await _call_waits(journal, row) for row in rows if row.id in due.ready])


async def _call_waits(journal: Journal, call: CallRow) -> bool:
    if call.state is not CallState.PREPARED:
        return False
    return any(ask.state is AskState.OPEN for ask in await asks.of_call(journal, call.id))


def _cause(due: DueSession) -> SuspendCause:
    return SuspendCause(reason=SuspendReason.STALLED, was=due.stuck, now=str(due.restarts))
