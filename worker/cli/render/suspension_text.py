"""A suspended session in words: what was, what is, what to do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact
from workflows.domain.ids import SessionId
from workflows.domain.suspension import SuspendReason

if TYPE_CHECKING:
    from workflows.domain.views.sessions import Overview


REPEATS: Final = "What it did that is not in its log may be done already, and is done again if it goes on."


def print_suspension(overview: "Overview") -> None:
    if (suspension := overview.suspension) is not None:
        why = describe_suspension(suspension.reason, suspension.was, suspension.now)
        print_note(f"The session is suspended: {why}")
        for each in list_actions(overview.id):
            print_note(each)


def describe_suspension(reason: SuspendReason, was: str | None, now: str | None) -> str:
    match reason:
        case SuspendReason.RESTART | SuspendReason.KEPT:
            kept = ", and HOLDFAST_RESUME=never keeps it from continuing by itself" * (reason is SuspendReason.KEPT)
            return f"It was at work when the stack stopped{kept}. May it continue?"
        case SuspendReason.RESTORED | SuspendReason.BEHIND:
            restored = "It comes from a backup, and was at work when that was made."
            lacks = f"its log ends at event {now}, and lacks event {was}, which its run has seen."
            found = restored if reason is SuspendReason.RESTORED else f"Its database was put back: {lacks}"
            return f"{found} {REPEATS} Look at its directory first. May it go on?"
        case SuspendReason.GONE:
            directory = escape_exact(was or "")
            return f"Its directory {directory} is not there: it was moved or deleted. Bring it back, or end it."
        case SuspendReason.REPLACED:
            return f"Another directory is at {escape_exact(was or '')} now than the one that its last turn has left."
        case SuspendReason.BRANCH:
            left, found = escape_exact(was or ""), escape_exact(now or "")
            return f"Its last turn has left the branch {left}; now {found} is checked out."
        case SuspendReason.TRUST:
            changed = f"Of what was accepted of its project's files, {escape_exact(was or '')}."
            return f"{changed} `holdfast trust` shows what is there now, and accepts it; else it goes on without."
        case SuspendReason.SILENT:
            return f"Its directory {escape_exact(was or '')} does not answer: look whether its file system is mounted."
        case SuspendReason.BROKEN:
            return f"{escape_exact(now or '')}. The worker's log has more. May it be tried again?"
        case SuspendReason.STALLED:
            because = f": {escape_exact(was)}" if was else ""
            return f"It makes no progress, although it was restarted {now} times{because}. May it be tried again?"


def list_actions(session: SessionId) -> Iterator[str]:
    yield f"  holdfast resume {session}  lets it go on, as things are now"
    yield f"  holdfast stop {session}    ends its turn, and withdraws what no turn has taken"
    yield f"  holdfast end {session}     ends it for good"
