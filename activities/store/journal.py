"""The journal: a unit of work on one session, under the lock of its head."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from activities.store.database import Database, dumps
from activities.store.pg_notify import FOLLOWER_LOCK_CLASS
from activities.store.pg_protocol import Rows
from activities.store.queries import Queries
from activities.store.statements import RowReader, Statements
from activities.store.turn_configs import TurnConfigCache
from workflows.domain import hash_chain
from workflows.domain.actor import Actor
from workflows.domain.errors import Conflict, DatabaseBehind, NotFound, StaleFence, UnknownEpoch, VersionConflict
from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import NoteId, SessionId, SuspensionId, TurnId
from workflows.domain.wake_signal import WakeKind

if TYPE_CHECKING:  # start-up time of commands: the union of all events
    from workflows.domain.events.event import Event

T = TypeVar("T")
WORKER: Final = Actor(subject="worker", method="activity")
_QUERIES: Final = Queries("journal")
_OUTBOX: Final = Queries("outbox")
_NOTES: Final = Queries("notes")


@dataclass
class SealedContent:
    """Content as stored, its salt, and the salted hash that events name it by."""

    content: str
    salt: bytes
    seal: str


def seal(value: Any) -> SealedContent:
    """Seal JSON text with a salt of 16 bytes."""
    content = dumps(value)
    salt = secrets.token_bytes(16)
    return SealedContent(content, salt, hash_chain.salted_hash(salt, content.encode()))


@dataclass(frozen=True)
class SessionVersion:
    """The end of a session's log, and its state, as of the lock."""

    status: str
    directory: str
    epoch: int
    seq: int
    head: bytes
    suspension: SuspensionId | None


@dataclass
class KnownLog:
    """The newest event that the running activity knows of in its session's log: by its request, or its own commits."""

    session: SessionId
    newest: LogPosition


KNOWN_LOG: Final[ContextVar[KnownLog | None]] = ContextVar("known_log", default=None)


class RecordedEvent(NamedTuple):
    """An event to append; `canonical`: the bytes of its `EventRecord`."""

    event: "Event"
    author: str
    canonical: bytes


class Journal:
    """What a transaction knows of its session, and the events that it will append.

    Locks the session before it reads, in the same round trip. What begins something `needs_newest`, the session's
    newest `epoch`; what finishes something needs any that was given out. Others are refused (StaleFence). A deleted
    session takes nothing but what is `even_deleted`.

    `seen`: the session's version after this epoch's last write. Nothing is read again: each change of the rows
    moves the end of the log, so what was read holds (`as_seen`), or the transaction fails (VersionConflict).
    """

    def __init__(
        self,
        batch: Statements,
        turn_configs: TurnConfigCache,
        session: SessionId,
        actor: Actor,
        epoch: int | None = None,
        seen: SessionVersion | None = None,
        *,
        needs_newest: bool = True,
        even_deleted: bool = False,
    ) -> None:
        self.session = session
        self.actor = actor
        self.turn_configs = turn_configs
        self.as_seen = seen is not None
        self.recorded: list[RecordedEvent] = []
        self._batch = batch
        self._epoch = epoch
        self._needs_newest = needs_newest
        self._even_deleted = even_deleted
        self._version = seen
        self._lock: asyncio.Future[Rows] | None = None
        self._followed: list[tuple[SessionId, asyncio.Future[Rows]]] = []
        known = KNOWN_LOG.get() if epoch is not None else None
        self._known = known if known is not None and known.session == session else None
        self._required = self._known.newest if self._known is not None else LogPosition()
        if seen is None:
            self._lock = batch.submit(_QUERIES.lock, session=session, known=self._required.seq)
        else:
            batch.write(_QUERIES.hold, session=session, head=seen.head, epoch=seen.epoch)

    @property
    def version(self) -> SessionVersion:
        """The session as of the lock; known after a read, or after `locked`."""
        if self._version is None:
            raise RuntimeError("The session is not locked yet: read something first, or await `locked`.")
        return self._version

    @property
    def version_after(self) -> SessionVersion:
        """The session's version after the commit."""
        return replace(self.version, seq=self.next_seq - 1, head=self._heads()[-1])

    @property
    def followed(self) -> list[SessionId]:
        """Sessions with new events that a connection follows; known after the commit."""
        return [session for session, found in self._followed if found.result()[0]["followed"]]

    @property
    def ended(self) -> bool:
        return self.version.status == "ended"

    @property
    def suspension(self) -> SuspensionId | None:
        return self.version.suspension

    async def locked(self) -> None:
        """Wait for the lock. Raises NotFound, StaleFence, DatabaseBehind, Conflict for an archived or deleted
        session."""
        if self._lock is None:
            return
        found = await self._batch.result(self._lock)
        if self._version is not None:
            return
        if not found:
            raise _not_found(self.session)
        row = found[0]
        gone = _why_gone(self.session, row, even_deleted=self._even_deleted)
        if gone is not None:
            raise Conflict(gone) if self._epoch is None else StaleFence(gone)
        self._require_known(row)
        if self._epoch is not None:
            self._require_epoch(self._epoch, row["epoch"])
        self._version = _version_of(row)

    def remember(self) -> None:
        """After the commit: the activity that runs knows of it."""
        if self._known is not None:
            after = self.version_after
            self._known.newest = max(self._known.newest, LogPosition.of(after.seq, after.head))

    def give_out_epoch(self) -> int:
        """The session's next epoch; known after a read, or after `locked`."""
        epoch = self.version.epoch + 1
        self.write(_QUERIES.set_epoch, session=self.session, epoch=epoch)
        return epoch

    @property
    def next_seq(self) -> int:
        """The number of the event that is recorded next."""
        return self.version.seq + len(self.recorded) + 1

    def record(self, event: "Event", actor: Actor | None = None) -> int:
        """Append an event; returns its number."""
        seq, author = self.next_seq, actor or self.actor
        record = {
            "session": self.session,
            "seq": seq,
            "at": datetime.now(UTC).isoformat(timespec="microseconds"),
            "actor": author.model_dump(mode="json"),
            "event": event.model_dump(mode="json"),
        }
        self.recorded.append(RecordedEvent(event, author.subject, hash_chain.canonical_json(record)))
        return seq

    def store_note(self, note: NoteId, text: str) -> str:
        """Store another's text, which may quote anything: events only name its seal. Returns the seal."""
        sealed = seal(text)
        self.write(_NOTES.insert, id=note, session=self.session, body=sealed.content, salt=sealed.salt)
        return sealed.seal

    def notify(self, kind: WakeKind, subject: str, turn: TurnId | None = None) -> None:
        """Write a signal for the workflow into the outbox; `subject`: the id of its row."""
        self.write(_OUTBOX.add, session=self.session, kind=kind, subject=subject, turn=turn)

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """Raises NotFound, StaleFence."""
        pending = self._batch.submit(query, **values)
        await self.locked()
        return await self._batch.result(pending)

    async def row(self, query: bytes, **values: Any) -> dict[str, Any] | None:
        rows = await self.rows(query, **values)
        return rows[0] if rows else None

    def submit(self, query: bytes, **values: Any) -> "asyncio.Future[Rows]":
        """Send a query with the next statements; await it after the transaction."""
        return self._batch.submit(query, **values)

    def write(self, query: bytes, **values: Any) -> None:
        """Send a statement with the next query, or with the commit."""
        self._batch.write(query, **values)

    def write_last(self, query: bytes, **values: Any) -> None:
        """In the exchange of the commit: for what other sessions wait for."""
        self._batch.write_last(query, **values)

    @asynccontextmanager
    async def child_journal(self, session: SessionId) -> AsyncIterator["Journal"]:
        """The journal of a session below this one, in the same transaction. Raises NotFound."""
        other = Journal(self._batch, self.turn_configs, session, self.actor)
        await other.locked()
        yield other
        other.append()
        self._followed += other._followed

    def append(self) -> None:
        """Write the recorded events and the new head, and ask whether a connection follows: one statement."""
        if not self.recorded:
            return
        heads, seq = self._heads(), self.version.seq
        followed = self.submit(
            _QUERIES.append,
            session=self.session,
            seqs=list(range(seq + 1, self.next_seq)),
            types=[each.event.type for each in self.recorded],
            canonicals=[each.canonical for each in self.recorded],
            before=heads[:-1],
            hashes=heads[1:],
            seq=self.next_seq - 1,
            head=heads[-1],
            moved=self._epoch is not None,
            followers=FOLLOWER_LOCK_CLASS,
        )
        self._followed.append((self.session, followed))

    def _heads(self) -> list[bytes]:
        heads = [self.version.head]
        for each in self.recorded:
            heads.append(hash_chain.chain_hash(heads[-1], each.canonical))
        return heads

    def _require_known(self, row: dict[str, Any]) -> None:
        seq = self._required.seq
        if seq and LogPosition.of(seq, bytes(row["known_hash"] or b"")) != self._required:
            raise DatabaseBehind(self.session, seq, row["seq"])

    def _require_epoch(self, mine: int, newest: int) -> None:
        if mine > newest:
            raise UnknownEpoch(f"Session {self.session!r} has given out no epoch {mine}: its newest is {newest}.")
        if mine < newest and self._needs_newest:
            raise StaleFence(f"Session {self.session!r} has been loaded by a later epoch ({newest} > {mine}).")


async def read_version(reader: RowReader, session: SessionId) -> SessionVersion:
    """Read the session's version without a lock. Raises NotFound, Conflict for an archived or deleted session."""
    found = await reader.rows(_QUERIES.read, session=session)
    if not found:
        raise _not_found(session)
    if (gone := _why_gone(session, found[0])) is not None:
        raise Conflict(gone)
    return _version_of(found[0])


def _version_of(row: dict[str, Any]) -> SessionVersion:
    return SessionVersion(
        row["status"], row["directory"], row["epoch"], row["seq"], bytes(row["head"]), row["suspension"]
    )


def _not_found(session: SessionId) -> NotFound:
    return NotFound(f"There is no session {session!r}. `holdfast sessions` lists the sessions there are.")


def _why_gone(session: SessionId, row: dict[str, Any], *, even_deleted: bool = False) -> str | None:
    if row["archive"] is not None:
        return f"Session {session!r} is archived: `holdfast restore {row['archive']['file']}` brings it back."
    if row["status"] == "deleted" and not even_deleted:
        return f"Session {session!r} was deleted."
    return None


@asynccontextmanager
async def session_journal(
    database: Database,
    session: SessionId,
    actor: Actor,
    *,
    epoch: int | None = None,
    seen: SessionVersion | None = None,
    needs_newest: bool = True,
    even_deleted: bool = False,
) -> AsyncIterator[Journal]:
    """Commits when the block ends without error. Raises NotFound, StaleFence; with `seen` VersionConflict."""
    if seen is not None and seen.epoch != epoch:
        raise VersionConflict
    async with database.statements() as batch:
        needed = {"needs_newest": needs_newest, "even_deleted": even_deleted}
        journal = Journal(batch, database.turn_configs, session, actor, epoch, seen, **needed)
        yield journal
        await journal.locked()
        journal.append()
    journal.remember()
    announce(database, journal)


class OpenJournal(Protocol):
    """Opens a session's journal, as `session_journal` does."""

    def __call__(self, *, seen: SessionVersion | None = None) -> AbstractAsyncContextManager[Journal]: ...


async def write_optimistically(
    open_journal: OpenJournal, seen: SessionVersion | None, write: Callable[[Journal], Awaitable[T]]
) -> T:
    """One exchange if the session is as `seen`, else one that reads first: `write` is called with either journal.

    Saves three of eight round trips per step. The database compares the session's version under its lock.
    """
    if seen is not None:
        with suppress(VersionConflict):
            async with open_journal(seen=seen) as journal:
                return await write(journal)
    async with open_journal() as journal:
        return await write(journal)


def announce(database: Database, journal: Journal) -> None:
    """Notify watchers after the commit of what a journal has appended."""
    database.notifications.add(journal.followed)
    if database.on_commit is not None:
        for each in journal.recorded:
            database.on_commit(each.event)
