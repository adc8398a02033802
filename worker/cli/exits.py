"""Exit codes, and which error ends with which."""

from enum import IntEnum

from workflows.domain.closing import CloseReason
from workflows.domain.errors import Conflict, HoldfastError, NotFound, Unavailable, UsageError


class Exit(IntEnum):
    """How a command ends; docs/usage.md lists them for people."""

    DONE = 0
    FAILED = 1  # the task failed, or what was checked is not in order
    USAGE = 2  # what was typed or configured is wrong, an id is unknown
    UNREACHABLE = 3  # the stack cannot be reached or started
    WAITING = 4  # the task waits for an answer (`run --no-wait`)
    STOPPED = 5  # the task was stopped, a call of it was rejected, or its session was ended
    CONFLICT = 6  # too late: already answered, revoked, or ended
    BUG = 70
    HUNG_UP = 129  # the terminal was closed; the task goes on
    INTERRUPTED = 130  # left with Ctrl-C; the task goes on
    BROKEN_PIPE = 141


_OF_REASON = {CloseReason.DONE: Exit.DONE, CloseReason.FAILED: Exit.FAILED}


def of_turn(reason: str) -> Exit:
    """The exit code of a command that has waited for a turn which ended for this reason."""
    return _OF_REASON.get(CloseReason(reason), Exit.STOPPED)


def of_error(error: HoldfastError) -> Exit:
    """The exit code of a command that has met this error."""
    match error:
        case Unavailable():
            return Exit.UNREACHABLE
        case Conflict():
            return Exit.CONFLICT
        case UsageError() | NotFound():
            return Exit.USAGE
        case _:
            return Exit.FAILED
