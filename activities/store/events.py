"""The event log: read, watched and verified."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store.database import Database
from activities.store.journal import CHANNEL, Journal
from activities.store.queries import Queries
from workflows.domain import chain, events
from workflows.domain.events import RECORDS, Record
from workflows.domain.ids import SessionId
from workflows.domain.value import Value

_QUERIES: Final = Queries("events")
_PAGE: Final = 500


class Delta(Value):
    """A piece of an answer or of a call's output that is not finished; `attempt` tells a retried answer apart."""

    id: int
    source: str
    attempt: str
    body: dict[str, JsonValue]


class Verified(Value):
    """What recomputing a session's chain showed; `problem` names the first bad row, None when all is well."""

    session: SessionId
    events: int
    head: str
    problem: str | None = None


async def after(database: Database, session: SessionId, seq: int = 0) -> AsyncIterator[Record]:
    """The session's events after `seq`, in order, as far as they go now."""
    while True:
        rows = await _page(database, _QUERIES.after, session, seq)
        for row in rows:
            seq = row["seq"]
            yield _record(bytes(row["canonical"]))
        if len(rows) < _PAGE:
            return


async def contents(database: Database, records: Sequence[Record]) -> dict[str, JsonValue]:
    """The contents that these events name: prompts, parts, calls with their outcome, asks; by id."""
    ids = sorted({name for record in records for name in names(record)})
    if not ids:
        return {}
    async with database.transaction() as connection, connection.cursor() as cursor:
        await cursor.execute(_QUERIES.named, {"ids": ids})
        return {name: body async for name, body in cursor}


def names(record: Record) -> Iterator[str]:
    """The ids of what an event is about."""
    fields = dict(record.event)
    yield from (fields[name] for name in ("prompt", "call", "ask") if name in fields)
    if isinstance(record.event, events.MessageCompleted):
        yield from (part.part for part in record.event.parts)


async def woken(database: Database, session: SessionId, *, at_least_every: float) -> AsyncGenerator[None, None]:
    """Tick at once, whenever the session's log or deltas grow, and at least every so many seconds.

    A notification may be lost with its connection: the regular tick makes that a delay, never a gap.
    """
    async with database.listening(CHANNEL) as connection:
        yield
        while True:
            async with aclosing(connection.notifies(timeout=at_least_every)) as notices:
                async for notice in notices:
                    if notice.payload.split(" ", 1)[0] == session:
                        break
            yield


async def deltas(database: Database, session: SessionId, after_id: int) -> list[Delta]:
    """Unfinished pieces that came after `after_id`."""
    async with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES.deltas, {"session": session, "after": after_id})
        return [Delta(**row) for row in await cursor.fetchall()]


async def keep_deltas(
    database: Database, session: SessionId, source: str, attempt: str, bodies: list[dict[str, JsonValue]]
) -> None:
    """Show unfinished pieces to whoever watches; what is lost here is lost for watching only."""
    async with database.transaction() as connection, connection.cursor() as cursor:
        rows = [{"session": session, "source": source, "attempt": attempt, "body": Json(body)} for body in bodies]
        await cursor.executemany(_QUERIES.keep_delta, rows)
        await cursor.execute(_QUERIES.notify, {"channel": CHANNEL, "payload": f"{session} delta"})


async def drop_deltas(opened: Journal, source: str) -> None:
    """Forget the pieces of what is finished: the event says it all."""
    await opened.run(_QUERIES.drop_deltas, source=source)


async def drop_old_deltas(database: Database, before: datetime) -> None:
    """Forget pieces of attempts that never finished."""
    async with database.transaction() as connection:
        await connection.execute(_QUERIES.drop_old_deltas, {"before": before})


async def verify(database: Database, session: SessionId) -> Verified:
    """Recompute the hash chain and the seals of the contents that are there; erased contents are no problem."""
    contents = await _contents(database, session)
    head, seq = chain.GENESIS, 0
    while rows := await _page(database, _QUERIES.whole, session, seq):
        for row in rows:
            problem = _problem(row, seq + 1, head, contents)
            if problem is not None:
                return Verified(session=session, events=seq, head=head.hex(), problem=problem)
            head, seq = bytes(row["hash"]), row["seq"]
    return Verified(session=session, events=seq, head=head.hex(), problem=await _tail(database, session, seq, head))


def _problem(row: dict[str, Any], seq: int, head: bytes, contents: dict[str, str]) -> str | None:
    found, canonical = row["seq"], bytes(row["canonical"])
    if found != seq:
        return f"event {seq} is missing (the next one there is {found})"
    if bytes(row["prev_hash"]) != head:
        return f"event {seq} ({row['type']}) does not follow from the event before it"
    if chain.link(head, canonical) != bytes(row["hash"]):
        return f"event {seq} ({row['type']}) is not what was hashed"
    record = _record(canonical)
    if (record.seq, record.event.type) != (seq, row["type"]):
        return f"event {seq} ({row['type']}) holds another event's bytes"
    for name, seal in _seals(record):
        if contents.get(name, seal) != seal:
            return f"event {seq} ({row['type']}): the content of {name} was changed afterwards"
    return None


def _seals(record: Record) -> Iterator[tuple[str, str]]:
    """Which content an event vouches for: name and seal."""
    match record.event:
        case events.PromptAccepted(prompt=name, seal=seal) | events.CallPrepared(call=name, seal=seal):
            yield name, seal
        case events.CallFinished(call=name, seal=seal):
            yield f"{name}/outcome", seal
        case events.MessageCompleted(parts=parts):
            yield from ((part.part, part.seal) for part in parts)
        case events.AskAnswered(ask=name, feedback_seal=str(seal)):
            yield f"{name}/feedback", seal


async def _contents(database: Database, session: SessionId) -> dict[str, str]:
    """Seals of all stored contents, recomputed."""
    async with database.transaction() as connection, connection.cursor() as cursor:
        await cursor.execute(_QUERIES.contents, {"session": session})
        return {name: chain.sealed(bytes(salt), body.encode()) async for name, body, salt in cursor}


async def _tail(database: Database, session: SessionId, seq: int, head: bytes) -> str | None:
    async with database.transaction() as connection, connection.cursor() as cursor:
        await cursor.execute(_QUERIES.head, {"session": session})
        row = await cursor.fetchone()
    if row is None:
        return "the session's row is missing"
    if row[0] > seq:
        return f"events {seq + 1} to {row[0]} are missing at the end"
    return None if (row[0], bytes(row[1])) == (seq, head) else "the session's row names another last event"


async def _page(database: Database, query: bytes, session: SessionId, seq: int) -> list[dict[str, Any]]:
    async with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query, {"session": session, "after": seq, "limit": _PAGE})
        return await cursor.fetchall()


def _record(canonical: bytes) -> Record:
    return RECORDS.validate_python(json.loads(canonical.decode("utf-8", "surrogatepass")))
