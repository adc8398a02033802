"""Repairs of sessions with work that do not move."""

from enum import StrEnum
from typing import Final

MAX_REFRESHES: Final = 2  # of one run, before it is terminated
MAX_RESTARTS: Final = 5  # before a person is asked


class Repair(StrEnum):
    """REFRESH: the session's run loads its rows again. RESTART: it is terminated, and another one begins. SUSPEND: the
    session waits until a person resumes it."""

    REFRESH = "refresh"
    RESTART = "restart"
    SUSPEND = "suspend"


def next_repair(run: str | None, watched: str | None, refreshes: int, restarts: int) -> Repair:
    """The next repair, after `refreshes` of the `watched` run and `restarts` without effect. `run`: the open one, if
    any; a run that was not watched is refreshed first."""
    if refreshes < MAX_REFRESHES or run not in (None, watched):
        return Repair.REFRESH
    return Repair.RESTART if restarts < MAX_RESTARTS else Repair.SUSPEND
