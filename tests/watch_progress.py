"""What watchers of tests have read."""

from collections.abc import Callable, Collection

from activities.store.notification_hub import WatchProgress
from workflows.domain.ids import SessionId

_ALL = 2**62


def read_all(*sessions: SessionId, more: Collection[SessionId] = ()) -> Callable[[], WatchProgress]:
    """All that there will ever be of the sessions, and of `more`, which may change: only a notification wakes it."""
    return lambda: WatchProgress(dict.fromkeys((*sessions, *more), _ALL), _ALL)


def read_nothing(session: SessionId) -> Callable[[], WatchProgress]:
    """It lags as long as the session has an event."""
    return lambda: WatchProgress({session: 0})
