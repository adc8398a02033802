"""The journal: one transaction on one session, its row locked, its events appended in order at the end."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.rows import TupleRow, dict_row

from activities.store.database import Database, dumps
from activities.store.queries import Queries
from workflows.domain import chain
from workflows.domain.errors import NotFound, StaleFence
from workflows.domain.events import Actor, Event, Record
from workflows.domain.ids import SessionId

CHANNEL: Final = "holdfast"
WORKER: Final = Actor(subject="worker", method="activity")
_QUERIES: Final = Queries("journal")


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


@dataclass
class Journal:
    """What a transaction knows of its session, and the events it will append."""

    connection: AsyncConnection[TupleRow]
    session: SessionId
    status: str
    directory: str
    seq: int
    head: bytes
    actor: Actor
    records: list[tuple[Record, bytes]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.status == "ended"

    def record(self, event: Event, actor: Actor | None = None) -> int:
        """Append an event; returns its seq. It becomes visible with the transaction, or not at all."""
        seq = self.seq + len(self.records) + 1
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        record = Record(session=self.session, seq=seq, at=now, actor=actor or self.actor, event=event)
        self.records.append((record, chain.canonical(record.model_dump(mode="json"))))
        return seq

    async def rows(self, query: bytes, **values: Any) -> list[dict[str, Any]]:
        """Run a query and return its rows, keyed by column."""
        async with self.connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(query, values)
            return await cursor.fetchall() if cursor.description else []

    async def row(self, query: bytes, **values: Any) -> dict[str, Any] | None:
        """Run a query and return its first row, or None."""
        rows = await self.rows(query, **values)
        return rows[0] if rows else None

    async def run(self, query: bytes, **values: Any) -> int:
        """Run a statement; returns how many rows it touched."""
        cursor = await self.connection.execute(query, values)
        return cursor.rowcount

    async def append(self) -> None:
        """Write the recorded events and the session's new head."""
        if not self.records:
            return
        head = self.head
        rows = []
        for record, canonical in self.records:
            linked = chain.link(head, canonical)
            rows.append((self.session, record.seq, record.event.type, canonical, head, linked))
            head = linked
        async with self.connection.pipeline(), self.connection.cursor() as cursor:
            await cursor.executemany(_QUERIES.append, rows)
            await cursor.execute(_QUERIES.advance, {"session": self.session, "seq": rows[-1][1], "head": head})
            await cursor.execute(_QUERIES.notify, {"channel": CHANNEL, "payload": f"{self.session} {rows[-1][1]}"})


@asynccontextmanager
async def journal(
    database: Database, session: SessionId, actor: Actor, *, chain_start: int | None = None
) -> AsyncIterator[Journal]:
    """Lock the session's row and open its journal; the events are written when the block ends without error.

    `chain_start` is the chain of an activity: an earlier one than the newest seen is refused (StaleFence), a
    later one takes the session over. Raises NotFound, StaleFence, Unavailable.
    """
    async with database.transaction() as connection:
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(_QUERIES.lock, {"session": session})
            row = await cursor.fetchone()
        if row is None:
            raise NotFound(f"There is no session {session!r}. `holdfast sessions` lists the sessions there are.")
        if chain_start is not None:
            await _own(connection, session, row["chain"], chain_start)
        opened = Journal(connection, session, row["status"], row["directory"], row["seq"], bytes(row["head"]), actor)
        yield opened
        await opened.append()


async def _own(connection: AsyncConnection[TupleRow], session: SessionId, newest: int, mine: int) -> None:
    if mine < newest:
        raise StaleFence(f"Session {session!r} has been taken over by a later chain ({newest} > {mine}).")
    if mine > newest:
        await connection.execute(_QUERIES.own, {"session": session, "chain": mine})
