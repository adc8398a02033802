"""Exit codes, and the errors that lead to them."""

from enum import IntEnum

from workflows.domain.close_reason import CloseReason
from workflows.domain.errors import Conflict, HoldfastError, NotFound, Unavailable, UsageError


class ExitCode(IntEnum):
    """How a command ends (listed in docs/usage.md)."""

    DONE = 0
    FAILED = 1  # the task or a check failed
    USAGE = 2  # wrong input or configuration, unknown id, a refused file or output
    UNREACHABLE = 3  # the stack cannot be reached or started
    WAITING = 4  # the task waits for an answer (`run --no-wait`)
    STOPPED = 5  # the task was stopped, one of its calls rejected, or its session ended
    CONFLICT = 6  # too late: already answered, revoked, or ended
    BUG = 70
    HUNG_UP = 129  # the terminal was closed; the task goes on
    INTERRUPTED = 130  # left with Ctrl-C; the task goes on
    BROKEN_PIPE = 141
    TERMINATED = 143  # ended by SIGTERM; the task goes on


_OF_REASON = {CloseReason.DONE: ExitCode.DONE, CloseReason.FAILED: ExitCode.FAILED}


def exit_code_of_turn(reason: str) -> ExitCode:
    return _OF_REASON.get(CloseReason(reason), ExitCode.STOPPED)


def exit_code_of_error(error: HoldfastError) -> ExitCode:
    match error:
        case Unavailable():
            return ExitCode.UNREACHABLE
        case Conflict():
            return ExitCode.CONFLICT
        case UsageError() | NotFound():
            return ExitCode.USAGE
        case _:
            return ExitCode.FAILED
