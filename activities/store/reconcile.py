"""Reconcile: sessions whose rows say that there is something to do, whether or not a run does it."""

from typing import Final

from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from activities.store.queries import Queries
from workflows.domain.ids import SessionId
from workflows.domain.value import Value
from workflows.domain.wire import WakeKind

_QUERIES: Final = Queries("reconcile")


class WaitingSession(Value):
    """A session that has work (an open turn, or an untaken prompt or retry), or is marked as stuck, and for which
    reason. `resting`: it waits for a person, or for a subagent, which may do so."""

    session: SessionId
    resting: bool
    working: bool
    stuck: str | None = None


async def waiting(database: Database, quiet: float) -> list[WaitingSession]:
    """Sessions that have something to do, and have not moved for so many seconds: whether or not a run works on it."""
    return [WaitingSession(**row) for row in await database.rows(_QUERIES.waiting, quiet=quiet)]


async def refresh(database: Database, session: SessionId) -> None:
    """Write a signal for the session's run to load its rows again."""
    async with session_journal(database, session, WORKER) as journal:
        journal.notify(WakeKind.REFRESH, "sweep")
