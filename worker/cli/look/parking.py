"""A parked session in words: what was, what is, and what can be done."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from worker.cli import door
from worker.cli.look.text import exact
from workflows.domain.ids import SessionId
from workflows.domain.parking import ParkReason

if TYPE_CHECKING:
    from worker.client import Overview


def say(seen: "Overview") -> None:
    """Tell who has given a parked session something to do that it does not begin with it."""
    if seen.parked is not None:
        door.say(f"The session is parked: {why(seen.parked.reason, seen.parked.was, seen.parked.now)}")
        for each in ways(seen.id):
            door.say(each)


def why(reason: ParkReason, was: str | None, now: str | None) -> str:
    """Why a session does not go on by itself."""
    match reason:
        case ParkReason.RESTART:
            return "It was at work when the stack ended. May it go on?"
        case ParkReason.KEPT:
            return "It was at work when the stack ended, and HOLDFAST_RESUME=never keeps it from going on by itself."
        case ParkReason.RESTORED:
            return (
                "It comes from a backup, and was at work when that was made: what it did later is not in its log, and "
                "may be done. Look at its directory first. May it go on?"
            )
        case ParkReason.GONE:
            return f"Its directory {exact(was or '')} is not there: it was moved or deleted. Bring it back, or end it."
        case ParkReason.REPLACED:
            return f"Another directory is at {exact(was or '')} now than the one that its last turn has left."
        case ParkReason.BRANCH:
            return f"Its last turn has left the branch {exact(was or '')}; now {exact(now or '')} is checked out."
        case ParkReason.BROKEN:
            return f"{exact(now or '')}. The worker's log has more. May it be tried again?"


def ways(session: SessionId) -> Iterator[str]:
    """What can be done with a parked session, besides waiting."""
    yield f"  holdfast resume {session}  lets it go on, as things are now"
    yield f"  holdfast stop {session}    ends its turn, and withdraws what no turn has taken"
    yield f"  holdfast end {session}     ends it for good"
