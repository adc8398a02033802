"""A suspended session asks no model, begins no effect and opens no turn until a person resumes it."""

from typing import Final

from activities.new_ids import new_id
from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import SessionSuspended, SuspensionEnded
from workflows.domain.ids import Prefix, SessionId, SuspensionId
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("suspensions")


async def suspend(journal: Journal, cause: SuspendCause) -> SuspensionId:
    """Returns the open suspension, new or old."""
    await journal.locked()
    if journal.suspension is not None:
        return journal.suspension
    suspension = SuspensionId(new_id(Prefix.SUSPENSION))
    journal.write(_QUERIES.suspend, id=suspension, session=journal.session, **cause.model_dump())
    journal.record(SessionSuspended(suspension=suspension, **cause.model_dump()))
    return suspension


async def suspend_broken(journal: Journal, why: str) -> bool:
    """Suspend a session that our own code keeps failing for; False when it has ended."""
    await journal.locked()
    if not journal.ended:
        await suspend(journal, SuspendCause(reason=SuspendReason.BROKEN, now=why))
    return not journal.ended


async def resume(journal: Journal, suspension: SuspensionId | None = None) -> SuspensionId:
    """Resume the session, with its directory as it is now. Repeating it changes nothing. Raises Conflict."""
    if suspension is not None and suspension != journal.suspension:
        known = await journal.row(_QUERIES.find, id=suspension)
        if known is not None and (known["session"], known["state"]) == (journal.session, "answered"):
            return suspension
    await journal.locked()
    if journal.suspension is None or suspension not in (None, journal.suspension):
        raise Conflict(
            f"Session {journal.session!r} is not suspended: it goes on by itself whenever it has something to do."
        )
    settle(journal, "answered")
    journal.notify(WakeKind.RESUME, journal.suspension)
    return journal.suspension


def settle(journal: Journal, state: str = "closed") -> None:
    """Settle the open suspension: answered, or closed by a stop or the session's end."""
    if journal.suspension is not None:
        settled = {"id": journal.suspension, "state": state, "author": journal.actor.subject}
        journal.write(_QUERIES.settle, session=journal.session, **settled)
        journal.record(SuspensionEnded(suspension=journal.suspension, resumed=state == "answered"))


async def sessions_at_work(database: Database) -> list[SessionId]:
    """The active sessions with something to do that are not suspended."""
    return [row["id"] for row in await database.rows(_QUERIES.sessions_at_work)]
