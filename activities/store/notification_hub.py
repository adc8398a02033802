"""One connection that listens for all watchers of a process."""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Final, NamedTuple, TypeAlias

from psycopg import Notify

from activities.cancellation import cancel_and_wait
from activities.store.pg_notify import ALL_SESSIONS, CHANNEL, FOLLOWER_LOCK_CLASS, WATCHER_LOCK_CLASS
from activities.store.pg_protocol import PipelinedConnection
from activities.store.queries import Queries
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

_QUERIES: Final = Queries("pg_notify")
_LOG: Final = logging.getLogger("holdfast.store")
POLL_INTERVAL: Final = 1.0  # seconds between two checks for lost notifications
_LONGEST_COMMIT: Final = 120.0  # seconds that an event may be older than its commit
_LOCK_INTERVAL: Final = 0.02  # seconds between two tries of a lock
_RECONNECT_INTERVAL: Final = 1.0  # seconds
_Lock: TypeAlias = tuple[int, SessionId]  # class and object of an advisory lock


class WatchProgress(NamedTuple):
    """What a watcher has read: the newest event of each followed session, and its own newest delta."""

    events: Mapping[SessionId, int]
    delta: int = 0


class Subscription:
    """A watcher's wake-ups: its session, and the subagents that it follows; or those of a follower of ALL_SESSIONS."""

    def __init__(self, hub: "NotificationHub", session: SessionId) -> None:
        self.session = session
        self.followed: Set[SessionId] = frozenset()
        self._progress = WatchProgress({})
        self._hub = hub
        self._changed: set[SessionId] = set()
        self._woken = asyncio.Event()
        self._failure: Unavailable | None = None

    def follow(self, progress: WatchProgress) -> None:
        """Follow exactly these sessions; new ones wake the watcher once followed."""
        self._progress = progress
        followed = {ALL_SESSIONS} if self.session == ALL_SESSIONS else progress.events.keys()
        if followed != self.followed:
            self._hub.change(self, frozenset(followed))

    def lags(self, session: SessionId, event: int, delta: int) -> bool:
        unread = 0 if self.session == ALL_SESSIONS else event
        return event > self._progress.events.get(session, unread) or (
            session == self.session and delta > self._progress.delta
        )

    def wake(self, session: SessionId, failure: Unavailable | None = None) -> None:
        self._changed.add(session)
        self._failure = self._failure or failure
        self._woken.set()

    async def wait(self) -> Set[SessionId]:
        """The followed sessions that may have changed since the last return; ALL_SESSIONS: any of them. Raises
        Unavailable when the connection was lost since."""
        await self._woken.wait()
        self._woken.clear()
        changed, self._changed = self._changed, set()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise Unavailable(str(failure)) from failure  # one error per watcher
        return changed


class NotificationHub:
    """Wakes watchers; connected as long as there are any.

    A notification may be lost: one query per second finds the watchers that lag, and one the sessions of which
    followers of all lack events. Shared advisory locks mark the sessions: commits notify only of followed ones, and
    deltas are written only for watched ones, among which ALL_SESSIONS is not.
    """

    def __init__(self, listen: Callable[[str], AbstractAsyncContextManager[PipelinedConnection]]) -> None:
        self._listen = listen
        self._subscriptions: dict[SessionId, set[Subscription]] = defaultdict(set)
        self._wanted: Counter[_Lock] = Counter()
        self._held: set[_Lock] = set()
        self._changed = False  # whether the wanted sessions differ from the locks
        self._stirred = asyncio.Event()  # a change, or something to read from the connection
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def subscribe(self, session: SessionId) -> Iterator[Subscription]:
        subscription = Subscription(self, session)
        watching = int(session != ALL_SESSIONS)
        self._wanted[WATCHER_LOCK_CLASS, session] += watching
        subscription.follow(WatchProgress({session: 0}))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            yield subscription
        finally:
            self._wanted[WATCHER_LOCK_CLASS, session] -= watching
            self.change(subscription, frozenset())

    def change(self, subscription: Subscription, followed: Set[SessionId]) -> None:
        for session in subscription.followed - followed:
            self._wanted[FOLLOWER_LOCK_CLASS, session] -= 1
            self._subscriptions[session].discard(subscription)
            if not self._subscriptions[session]:
                del self._subscriptions[session]
        for session in followed - subscription.followed:
            self._wanted[FOLLOWER_LOCK_CLASS, session] += 1
            self._subscriptions[session].add(subscription)
            if (FOLLOWER_LOCK_CLASS, session) in self._held:
                subscription.wake(session)
        subscription.followed = followed
        self._changed = True
        self._stirred.set()

    async def close(self) -> None:
        if self._task is not None:
            await cancel_and_wait(self._task)

    async def _run(self) -> None:
        while self._subscriptions:
            try:
                async with self._listen(CHANNEL) as connection:
                    connection.add_notify_handler(self._on_notification)
                    await self._serve(connection)
                self._held.clear()
            except Exception as error:  # an edge: watchers would wait for ever
                if not isinstance(error, Unavailable):
                    _LOG.exception("the watchers of this process are woken again")
                self._held.clear()
                self._wake(self._subscriptions, Unavailable(str(error)))
                await asyncio.sleep(_RECONNECT_INTERVAL)

    async def _serve(self, connection: PipelinedConnection) -> None:
        clock = asyncio.get_running_loop().time
        polled_at = clock()
        poll_at = polled_at + POLL_INTERVAL
        self._changed = True  # a new connection holds no locks
        while self._subscriptions:
            lacking = await self._adjust_locks(connection)
            if clock() >= poll_at:
                begun_at = clock()
                await self._wake_lagging(connection, begun_at - polled_at + _LONGEST_COMMIT)
                polled_at, poll_at = begun_at, clock() + POLL_INTERVAL
            connection.pgconn.consume_input()
            while found := connection.pgconn.notifies():
                self._wake([SessionId(found.extra.decode())])
            if not self._changed:
                await self._wait(connection, _LOCK_INTERVAL if lacking else poll_at - clock())

    async def _wake_lagging(self, connection: PipelinedConnection, age: float) -> None:
        """Also notices a lost connection. `age`: in seconds, of the oldest event that may be unknown."""
        sessions = [session for session in self._subscriptions if session != ALL_SESSIONS]
        rows = await connection.rows(_QUERIES.newest, sessions=sessions) if sessions else []
        if ALL_SESSIONS in self._subscriptions:
            rows += await connection.rows(_QUERIES.recent, age=age)
        for row in rows:
            session = SessionId(row["session"])
            for subscription in self._followers(session):
                if subscription.lags(session, row["event"], row["delta"]):
                    subscription.wake(session)

    async def _adjust_locks(self, connection: PipelinedConnection) -> bool:
        """Lock and unlock as wanted. True: a commit is just trying a lock, which is taken the next time."""
        changed, self._changed = self._changed, False
        self._wanted = +self._wanted
        new, old = self._wanted.keys() - self._held, self._held - self._wanted.keys()
        if old:
            await connection.rows(_QUERIES.unlock, **_columns(old))
            self._held -= old
        rows = await connection.rows(_QUERIES.lock, **_columns(new)) if new else []
        locked = {(int(row["class"]), SessionId(row["session"])) for row in rows}
        self._held |= locked
        self._wake({session for _, session in (new if changed else locked)})
        return locked != new

    async def _wait(self, connection: PipelinedConnection, seconds: float) -> None:
        loop, socket = asyncio.get_running_loop(), connection.fileno()
        loop.add_reader(socket, self._stirred.set)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stirred.wait()
        finally:
            loop.remove_reader(socket)
            self._stirred.clear()

    def _on_notification(self, notification: Notify) -> None:
        """It may come with the answer to a statement."""
        self._wake([SessionId(notification.payload)])

    def _wake(self, sessions: Iterable[SessionId], failure: Unavailable | None = None) -> None:
        for session in sessions:
            for subscription in self._followers(session):
                subscription.wake(session, failure)

    def _followers(self, session: SessionId) -> Set[Subscription]:
        """Also those of all sessions."""
        return {*self._subscriptions.get(session, ()), *self._subscriptions.get(ALL_SESSIONS, ())}


def _columns(locks: Set[_Lock]) -> dict[str, list[int] | list[SessionId]]:
    return {"classes": [number for number, _ in locks], "sessions": [session for _, session in locks]}
