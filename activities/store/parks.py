"""Parks: a session that goes on only when a person says so. While it is parked, no model is asked for it, no effect
begins, and no turn is opened."""

from typing import Any, Final

from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events import SessionParked, SessionUnparked
from workflows.domain.ids import ParkId, SessionId
from workflows.domain.parking import Doubt
from workflows.domain.value import Value

_QUERIES: Final = Queries("parks")


class Resumed(Value):
    """A parked session that goes on."""

    session: SessionId
    park: ParkId


def park(opened: Journal, park: ParkId, doubt: Doubt) -> None:
    """Park the session, which is not parked yet."""
    opened.write(_QUERIES.park, id=park, session=opened.session, **doubt.model_dump())
    opened.record(SessionParked(park=park, **doubt.model_dump()))


async def resume(opened: Journal, park: ParkId | None = None) -> Resumed:
    """Let the session go on, as things are now. The same `park` again changes nothing. Raises Conflict."""
    if park is not None and park != opened.parked:
        known = await opened.row(_QUERIES.find, id=park)
        if _answered(opened, known):
            return Resumed(session=opened.session, park=park)
    await opened.locked()
    if opened.parked is None or park not in (None, opened.parked):
        raise Conflict(
            f"Session {opened.session!r} is not parked: it goes on by itself whenever it has something to do."
        )
    resumed = Resumed(session=opened.session, park=opened.parked)
    settle(opened, "answered")
    return resumed


def settle(opened: Journal, state: str = "closed") -> None:
    """Nobody has to be asked any more: it was answered, or (closed) the session was stopped or ended."""
    if opened.parked is not None:
        settled = {"id": opened.parked, "state": state, "author": opened.actor.subject}
        opened.write(_QUERIES.settle, session=opened.session, **settled)
        opened.record(SessionUnparked(park=opened.parked, resumed=state == "answered"))


async def at_work(database: Database) -> list[SessionId]:
    """The sessions that have something to do and are not parked."""
    return [row["id"] for row in await database.rows(_QUERIES.at_work)]


def _answered(opened: Journal, known: dict[str, Any] | None) -> bool:
    return known is not None and (known["session"], known["state"]) == (opened.session, "answered")
