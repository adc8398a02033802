"""A suspended session asks no model, begins no effect and opens no turn until a person resumes it."""

from typing import Any, Final

from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import SessionSuspended, SuspensionEnded
from workflows.domain.ids import SessionId, SuspensionId
from workflows.domain.suspension import SuspendCause
from workflows.domain.value import Value
from workflows.domain.wire import WakeKind

_QUERIES: Final = Queries("suspensions")


class ResumedSession(Value):
    """A session that was resumed."""

    session: SessionId
    suspension: SuspensionId


def suspend(journal: Journal, suspension: SuspensionId, cause: SuspendCause) -> None:
    """Suspend the session, which is not suspended."""
    journal.write(_QUERIES.suspend, id=suspension, session=journal.session, **cause.model_dump())
    journal.record(SessionSuspended(suspension=suspension, **cause.model_dump()))


async def resume(journal: Journal, suspension: SuspensionId | None = None) -> ResumedSession:
    """Resume the session, with its directory as it is now. Repeating it changes nothing. Raises Conflict."""
    if suspension is not None and suspension != journal.suspension:
        known = await journal.row(_QUERIES.find, id=suspension)
        if _answered(journal, known):
            return ResumedSession(session=journal.session, suspension=suspension)
    await journal.locked()
    if journal.suspension is None or suspension not in (None, journal.suspension):
        raise Conflict(
            f"Session {journal.session!r} is not suspended: it goes on by itself whenever it has something to do."
        )
    resumed = ResumedSession(session=journal.session, suspension=journal.suspension)
    settle(journal, "answered")
    journal.notify(WakeKind.RESUME, resumed.suspension)
    return resumed


def settle(journal: Journal, state: str = "closed") -> None:
    """Settle the open suspension: answered by a person, or closed by a stop or the session's end."""
    if journal.suspension is not None:
        settled = {"id": journal.suspension, "state": state, "author": journal.actor.subject}
        journal.write(_QUERIES.settle, session=journal.session, **settled)
        journal.record(SuspensionEnded(suspension=journal.suspension, resumed=state == "answered"))


async def sessions_at_work(database: Database) -> list[SessionId]:
    """The active sessions with something to do that are not suspended."""
    return [row["id"] for row in await database.rows(_QUERIES.sessions_at_work)]


def _answered(journal: Journal, known: dict[str, Any] | None) -> bool:
    return known is not None and (known["session"], known["state"]) == (journal.session, "answered")
