"""The journal: one transaction on one session, its row locked, its events appended in order at the end."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from activities.store.database import Database, dumps
from activities.store.notifications import FOLLOWERS
from activities.store.outages import Moved
from activities.store.queries import Queries
from activities.store.snapshots import Snapshots
from activities.store.statements import Statements
from activities.store.wire import Rows
from workflows.domain import chain
from workflows.domain.errors import Conflict, HoldfastError, NotFound, StaleFence
from workflows.domain.events import Actor, Event, Record
from workflows.domain.ids import ParkId, SessionId

WORKER: Final = Actor(subject="worker", method="activity")
_QUERIES: Final = Queries("journal")
_LOG: Final = logging.getLogger("holdfast.store")


@dataclass
class Sealed:
    """Content as it is stored, with its salt, and the hash under which events name it."""

    content: str
    salt: bytes
    seal: str


def seal(value: Any) -> Sealed:
    """Make content ready for storing: JSON text, a salt of 16 bytes, and its salted hash."""
    content = dumps(value)
    salt = secrets.token_bytes(16)
    return Sealed(content, salt, chain.sealed(salt, content.encode()))


@dataclass(frozen=True)
class Place:
    """Where a session's log ends, and what else its locked row says."""

    status: str
    directory: str
    chain: int
    seq: int
    head: bytes
    parked: ParkId | None


class Journal:
    """What a transaction knows of its session, and the events it will append.

    The session's row is locked before anything else is read, in the same round trip. `chain_start` is the chain of an
    activity: an earlier one than the newest seen is refused (StaleFence), a later one takes the session over.

    With `held`, a place where this chain has left the session, nothing has to be read: each change of a session's rows
    moves the end of its log, so that all that was found then still holds, or the transaction fails (Moved).
    """

    def __init__(
        self,
        said: Statements,
        snapshots: Snapshots,
        session: SessionId,
        actor: Actor,
        chain_start: int | None = None,
        held: Place | None = None,
    ) -> None:
        self.session = session
        self.actor = actor
        self.snapshots = snapshots
        self.records: list[tuple[Record, bytes]] = []
        self._said = said
        self._chain = chain_start
        self._place = held
        self._locking: asyncio.Future[Rows] | None = None
        self._followed: list[tuple[SessionId, asyncio.Future[Rows]]] = []
        if held is None:
            self._locking = said.ask(_QUERIES.lock, session=session)
        else:
            said.note(_QUERIES.hold, session=session, seq=held.seq, chain=held.chain)

    @property
    def place(self) -> Place:
        """What the locked row says; known as soon as something was read, or `locked` was awaited."""
        if self._place is None:
            raise RuntimeError("The session's row is not locked yet: read something first, or await `locked`.")
        return self._place

    @property
    def left(self) -> Place:
        """Where the transaction leaves the session, once it is committed."""
        seq = self.place.seq + len(self.records)
        return replace(self.place, seq=seq, head=self._heads()[-1])

    @property
    def followed(self) -> list[SessionId]:
        """Which sessions that it has written to somebody follows; known once it is committed."""
        return [session for session, found in self._followed if found.result()[0]["followed"]]

    @property
    def ended(self) -> bool:
        return self.place.status == "ended"

    @property
    def parked(self) -> ParkId | None:
        """The session's open park, when this transaction began."""
        return self.place.parked

    async def locked(self) -> None:
        """Wait for the lock. Raises NotFound, Conflict for what is archived, StaleFence."""
        if self._locking is None:
            return
        found = await self._said.answer(self._locking)
        if self._place is not None:
            return
        if not found:
            raise NotFound(f"There is no session {self.session!r}. `holdfast sessions` lists the sessions there are.")
        row = found[0]
        if row["archive"] is not None:
            raise self._away(row["archive"]["file"])
        chain_now = row["chain"] if self._chain is None else self._own(row["chain"], self._chain, row["latest"])
        self._place = Place(row["status"], row["directory"], chain_now, row["seq"], bytes(row["head"]), row["parked"])

    def record(self, event: Event, actor: Actor | None = None) -> int:
        """Append an event; returns its seq. It becomes visible with the transaction, or not at all."""
        seq = self.place.seq + len(self.records) + 1
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        record = Record(session=self.session, seq=seq, at=now, actor=actor or self.actor, event=event)
        self.records.append((record, chain.canonical(record.model_dump(mode="json"))))
        return seq

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """The rows of a query, keyed by column. Raises NotFound, StaleFence."""
        asked = self._said.ask(query, **values)
        await self.locked()
        return await self._said.answer(asked)

    async def row(self, query: bytes, **values: Any) -> dict[str, Any] | None:
        """The first row of a query, or None. Raises NotFound, StaleFence."""
        rows = await self.rows(query, **values)
        return rows[0] if rows else None

    def later(self, query: bytes, **values: Any) -> "asyncio.Future[Rows]":
        """The rows of a query that are waited for when the transaction is over."""
        return self._said.ask(query, **values)

    def write(self, query: bytes, **values: Any) -> None:
        """Say a statement that goes with the next reading, or with the commit."""
        self._said.note(query, **values)

    @asynccontextmanager
    async def beside(self, session: SessionId) -> AsyncIterator["Journal"]:
        """The journal of a session below this one, in the same transaction. Raises NotFound."""
        other = Journal(self._said, self.snapshots, session, self.actor)
        await other.locked()
        yield other
        other.append()
        self._followed += other._followed

    def append(self) -> None:
        """Write the recorded events and the session's new head, and ask whether anybody follows: one statement."""
        if not self.records:
            return
        heads = self._heads()
        seq = self.place.seq + len(self.records)
        followed = self.later(
            _QUERIES.append,
            session=self.session,
            seqs=[record.seq for record, _ in self.records],
            types=[record.event.type for record, _ in self.records],
            canonicals=[canonical for _, canonical in self.records],
            before=heads[:-1],
            hashes=heads[1:],
            seq=seq,
            head=heads[-1],
            followers=FOLLOWERS,
        )
        self._followed.append((self.session, followed))

    def _away(self, file: str) -> HoldfastError:
        """The session lies in an archive: a person is told how it comes back, an activity has nothing to do."""
        said = f"Session {self.session!r} is archived: `holdfast restore {file}` brings it back."
        return Conflict(said) if self._chain is None else StaleFence(said)

    def _heads(self) -> list[bytes]:
        """The hash that the log ended with, and that of each event since."""
        heads = [self.place.head]
        for _, canonical in self.records:
            heads.append(chain.link(heads[-1], canonical))
        return heads

    def _own(self, newest: int, mine: int, latest: int) -> int:
        """The session's chain from now on. A new one that begins after `latest` is no true one: it would stay for good.

        The session's own chain goes on however late it began: after a failover the clock may be behind.
        """
        if mine < newest:
            raise StaleFence(f"Session {self.session!r} has been taken over by a later chain ({newest} > {mine}).")
        if mine > max(newest, latest):
            said = f"Session {self.session!r} is refused to a chain that begins later than now ({mine} > {latest})."
            _LOG.warning("%s The clocks of Temporal and PostgreSQL must agree.", said)
            raise StaleFence(said)
        if mine > newest:
            self.write(_QUERIES.own, session=self.session, chain=mine)
        return mine


@asynccontextmanager
async def journal(
    database: Database,
    session: SessionId,
    actor: Actor,
    *,
    chain_start: int | None = None,
    held: Place | None = None,
) -> AsyncIterator[Journal]:
    """Open a session's journal in a transaction; its events are written when the block ends without error.

    Raises NotFound, StaleFence, Unavailable; with `held` Moved.
    """
    if held is not None and held.chain != chain_start:
        raise Moved
    async with database.statements() as said:
        opened = Journal(said, database.snapshots, session, actor, chain_start, held)
        yield opened
        await opened.locked()
        opened.append()
    database.notifications.add(opened.followed)
    if database.told is not None:
        for record, _ in opened.records:
            database.told(record)
