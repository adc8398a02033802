"""Which sessions a person looks for."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from workflows.domain.value import Value


class ListedState(StrEnum):
    """What a session does, or how its last turn ended."""

    WORKING = "working"
    ASKS = "asks"
    SUSPENDED = "suspended"
    STUCK = "stuck"
    NEW = "new"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    REJECTED = "rejected"
    ENDED = "ended"
    ARCHIVED = "archived"


class SessionFilter(Value):
    """All fields must match; an empty one matches anything. `below`: that directory and those in it. `worktree`: of the
    project. `text` is a part of the title, in any case. `since` and `before`: of the last change."""

    directory: str | None = None
    below: str | None = None
    worktree: str | None = None
    states: tuple[ListedState, ...] = ()
    agents: tuple[str, ...] = ()
    text: str | None = None
    since: datetime | None = None
    before: datetime | None = None

    @property
    def empty(self) -> bool:
        return self == EVERY_SESSION


EVERY_SESSION: Final = SessionFilter()
