"""One connection listens for all watchers of a process, and marks the watched sessions for other processes."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Final, TypeAlias

from psycopg import Notify

from activities.cancellation import cancel_and_wait
from activities.store.pg_notify import CHANNEL, FOLLOWER_LOCK_CLASS, WATCHER_LOCK_CLASS
from activities.store.pg_protocol import PipelinedConnection
from activities.store.queries import Queries
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

_QUERIES: Final = Queries("pg_notify")
_PROBE_INTERVAL: Final = 1.0  # seconds without a notification before the connection is probed
_RECONNECT_INTERVAL: Final = 1.0  # seconds
_Lock: TypeAlias = tuple[int, SessionId]  # class and object of an advisory lock


class Subscription:
    """A watcher's wake-ups: its session, and the subagents that it follows."""

    def __init__(self, hub: "NotificationHub", session: SessionId) -> None:
        self.session = session
        self.followed: Set[SessionId] = frozenset()
        self._hub = hub
        self._woken = asyncio.Event()
        self._failure: Unavailable | None = None

    def follow(self, subagents: Set[SessionId]) -> None:
        """Follow exactly these from now on. New ones wake the watcher once they are followed."""
        followed = {self.session} | subagents
        if followed != self.followed:
            self._hub.change(self, followed)

    def wake(self, failure: Unavailable | None = None) -> None:
        self._failure = self._failure or failure
        self._woken.set()

    async def wait(self, timeout: float) -> None:
        """Return when a followed session may have changed since the last return, at the latest after `timeout`.

        Raises Unavailable when the connection was lost since.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        self._woken.clear()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise Unavailable(str(failure)) from failure  # one error per watcher


class NotificationHub:
    """Wakes watchers. Connects for the first one, reconnects, and disconnects after the last one.

    Commits notify only of followed sessions, and deltas are written only for watched ones: shared advisory locks of
    this connection mark them, one per session.
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
        """Watch a session while the block runs."""
        subscription = Subscription(self, session)
        self._wanted[WATCHER_LOCK_CLASS, session] += 1
        subscription.follow(frozenset())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            yield subscription
        finally:
            self._wanted[WATCHER_LOCK_CLASS, session] -= 1
            self.change(subscription, frozenset())

    def change(self, subscription: Subscription, followed: Set[SessionId]) -> None:
        """Wake a subscription by exactly these sessions."""
        for session in subscription.followed - followed:
            self._wanted[FOLLOWER_LOCK_CLASS, session] -= 1
            self._subscriptions[session].discard(subscription)
            if not self._subscriptions[session]:
                del self._subscriptions[session]
        for session in followed - subscription.followed:
            self._wanted[FOLLOWER_LOCK_CLASS, session] += 1
            self._subscriptions[session].add(subscription)
            if (FOLLOWER_LOCK_CLASS, session) in self._held:
                subscription.wake()
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
            except Unavailable as error:
                self._held.clear()
                self._wake(self._subscriptions, error)
                await asyncio.sleep(_RECONNECT_INTERVAL)

    async def _serve(self, connection: PipelinedConnection) -> None:
        while self._subscriptions:
            await self._adjust_locks(connection)
            quiet = False
            while not (quiet or self._changed):
                connection.pgconn.consume_input()
                while found := connection.pgconn.notifies():
                    self._wake([SessionId(found.extra.decode())])
                quiet = not await self._wait(connection)

    async def _adjust_locks(self, connection: PipelinedConnection) -> None:
        """Lock and unlock as wanted. Always asks the server, to notice a lost connection.

        A lock that a commit is just trying is taken the next time: after an event, or the interval.
        """
        changed, self._changed = self._changed, False
        self._wanted = +self._wanted
        new, old = self._wanted.keys() - self._held, self._held - self._wanted.keys()
        if old:
            await connection.rows(_QUERIES.unlock, **_columns(old))
            self._held -= old
        rows = await connection.rows(_QUERIES.lock, **_columns(new))
        locked = {(int(row["class"]), SessionId(row["session"])) for row in rows}
        self._held |= locked
        self._changed |= locked != new
        self._wake({session for _, session in (new if changed else locked)})

    async def _wait(self, connection: PipelinedConnection) -> bool:
        """False: nothing within the interval."""
        loop, socket = asyncio.get_running_loop(), connection.fileno()
        loop.add_reader(socket, self._stirred.set)
        try:
            async with asyncio.timeout(_PROBE_INTERVAL):
                await self._stirred.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(socket)
            self._stirred.clear()
        return True

    def _on_notification(self, notification: Notify) -> None:
        """It may come with the answer to a statement."""
        self._wake([SessionId(notification.payload)])

    def _wake(self, sessions: Iterable[SessionId], failure: Unavailable | None = None) -> None:
        for session in sessions:
            for subscription in self._subscriptions.get(session, ()):
                subscription.wake(failure)


def _columns(locks: Set[_Lock]) -> dict[str, list[int] | list[SessionId]]:
    return {"classes": [number for number, _ in locks], "sessions": [session for _, session in locks]}
