"""The event log: read, watched and verified."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence, Set
from contextlib import aclosing
from typing import Any, Final

from pydantic import JsonValue

from activities.store import deltas
from activities.store.database import Database
from activities.store.notifications import CHANNEL, FOLLOWERS
from activities.store.queries import Queries
from activities.store.wire import Connection, Rows
from workflows.domain import chain, events
from workflows.domain.events import RECORDS, Record
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.replies import Reply
from workflows.domain.value import Value

_QUERIES: Final = Queries("events")
_NOTIFICATIONS: Final = Queries("notifications")
_PAGE: Final = 500
_LINKS: Final = 100  # events that are verified together, with the seals of what they vouch for


class Verified(Value):
    """What recomputing a session's chain showed; `problem` names the first bad row, None when all is well."""

    session: SessionId
    events: int
    head: str
    problem: str | None = None


async def after(database: Database, session: SessionId, seq: int = 0) -> AsyncIterator[Record]:
    """The session's events after `seq`, in order, as far as they go now."""
    while True:
        rows = await _page(database, _QUERIES.after, session, seq, _PAGE)
        for row in rows:
            seq = row["seq"]
            yield record(bytes(row["canonical"]))
        if len(rows) < _PAGE:
            return


async def contents(database: Database, records: Sequence[Record]) -> dict[str, JsonValue]:
    """The contents that these events name: prompts, parts, calls with their outcome, asks; by id."""
    ids = sorted({name for record in records for name in names(record)})
    if not ids:
        return {}
    return {row["id"]: row["body"] for row in await database.rows(_QUERIES.named, ids=ids)}


def names(record: Record) -> Iterator[str]:
    """The ids of what an event is about."""
    fields = dict(record.event)
    if isinstance(record.event, events.PromptAccepted):
        del fields["call"]  # it is the parent's, and stands in its log
    yield from (fields[name] for name in ("prompt", "call", "ask", "note") if fields.get(name))
    if isinstance(record.event, events.MessageCompleted):
        yield from (part.part for part in record.event.parts)


async def woken(
    database: Database, session: SessionId, below: Callable[[], Set[SessionId]] = set, *, at_least_every: float
) -> AsyncGenerator[None, None]:
    """Tick at once, whenever the log of the session, or of one of those that `below` names just now, or the deltas of
    the session grow, and at least every so many seconds.

    A notification may be lost: the regular tick makes that a delay, never a gap. As long as this is iterated, these
    sessions count as followed, so that notifications are sent, and `session` as watched: deltas are written.
    """
    async with database.listening(CHANNEL) as connection:
        following = _Following(connection)
        shown, quiet = False, True
        while True:
            shown = shown or await deltas.watching(connection, session)
            to_be_read = await following.these({session} | below(), look=quiet)
            quiet = not (to_be_read or await following.heard(at_least_every))
            yield


class _Following:
    """The sessions that a connection follows, and what it hears of them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sessions: set[SessionId] = set()
        self._first = True

    async def these(self, sessions: Set[SessionId], *, look: bool) -> bool:
        """Follow these from now on, and no others; returns whether they have to be read at once, as new ones have.

        A session that is just being written to may only be followed the next time. `look` says that the connection has
        been quiet: the server is asked something in any case, which finds out whether it is still there.
        """
        first, self._first = self._first, False
        new, left = sessions - self._sessions, self._sessions - sessions
        if left:
            await self._connection.rows(_NOTIFICATIONS.leave, followers=FOLLOWERS, sessions=list(left))
            self._sessions -= left
        if not (new or look):
            return False
        found = await self._connection.rows(_NOTIFICATIONS.follow, followers=FOLLOWERS, sessions=list(new))
        self._sessions.update(row["session"] for row in found)
        return first or bool(found)

    async def heard(self, within: float) -> bool:
        """Wait for a notification of these sessions, so long at most."""
        async with aclosing(self._connection.notifies(timeout=within)) as notices:
            async for notice in notices:
                if notice.payload in self._sessions:
                    return True
        return False


async def verify(database: Database, session: SessionId) -> Verified:
    """Recompute the hash chain, the seals of the contents that are there, and the heads that it names of subagents'
    chains; erased contents are no problem."""
    head, seq, answers = chain.GENESIS, 0, Answers()
    while rows := await _page(database, _QUERIES.whole, session, seq, _LINKS):
        contents = await _contents(database, rows)
        for row in rows:
            found = problem(row, seq + 1, head, contents) or answers.problem(row) or await _child_problem(database, row)
            if found is not None:
                return Verified(session=session, events=seq, head=head.hex(), problem=found)
            head, seq = bytes(row["hash"]), row["seq"]
    return Verified(session=session, events=seq, head=head.hex(), problem=await _tail(database, session, seq, head))


def problem(row: dict[str, Any], seq: int, head: bytes, contents: dict[str, str]) -> str | None:
    """What is wrong with a row of the log that should be event `seq`, behind one with the hash `head`.

    `contents` are the seals of what is there.
    """
    found, canonical = row["seq"], bytes(row["canonical"])
    if found != seq:
        return f"event {seq} is missing (the next one there is {found})"
    if bytes(row["prev_hash"]) != head:
        return f"event {seq} ({row['type']}) does not follow from the event before it"
    if chain.link(head, canonical) != bytes(row["hash"]):
        return f"event {seq} ({row['type']}) is not what was hashed"
    told = _readable(canonical)
    if told is None or (told.seq, told.event.type) != (seq, row["type"]):
        return f"event {seq} ({row['type']}) holds another event's bytes"
    for name, seal in _seals(told):
        if contents.get(name, seal) != seal:
            return f"event {seq} ({row['type']}): the content of {name} was changed afterwards"
    return None


class Answers:
    """The answers of one session's log so far: each claim that was decided by an answer has to name one of them."""

    def __init__(self) -> None:
        self._given: dict[AskId, Record] = {}

    def problem(self, row: dict[str, Any]) -> str | None:
        """Take the next event; what it claims that no answer before it explains."""
        if row["type"] not in ("ask.answered", "call.claimed"):
            return None
        told = record(bytes(row["canonical"]))
        if isinstance(told.event, events.AskAnswered):
            self._given[told.event.ask] = told
        if isinstance(told.event, events.CallClaimed):
            for decision in told.event.decisions:
                if decision.by == "answer" and not self._explains(decision, told.event):
                    return (
                        f"event {told.seq} (call.claimed): nothing in the log explains that {decision.author!r} "
                        f"allowed {told.event.call} by {decision.ask}"
                    )
        return None

    def _explains(self, decision: events.Decision, claim: events.CallClaimed) -> bool:
        """Whether the log has an answer by this author that allows this call with this effect; an answer to the loop
        guard holds for whatever the call has become."""
        told = self._given.get(decision.ask) if decision.ask is not None else None
        if told is None or not isinstance(told.event, events.AskAnswered):
            return False
        answer = told.event
        same = (answer.call, told.actor.subject) == (claim.call, decision.author) and answer.reply != Reply.REJECT
        return same and (decision.permission == loop_guard.PERMISSION or answer.digest == (claim.digest or ""))


async def _child_problem(database: Database, row: dict[str, Any]) -> str | None:
    """Whether a subagent's log is not the one that its parent's log names."""
    if row["type"] != "task.settled":
        return None
    event = record(bytes(row["canonical"])).event
    if not isinstance(event, events.TaskSettled):
        return f"event {row['seq']} (task.settled) holds another event's bytes"
    found = await database.rows(_QUERIES.hash, session=event.child, seq=event.seq)
    if found and found[0]["hash"] == event.head:
        return None
    return (
        f"event {row['seq']} (task.settled): event {event.seq} of {event.child} is not the one that was its last then"
    )


def _seals(record: Record) -> Iterator[tuple[str, str]]:
    """Which content an event vouches for: name and seal."""
    match record.event:
        case events.PromptAccepted(prompt=name, seal=seal) | events.CallPrepared(call=name, seal=seal):
            yield name, seal
        case events.CallFinished(call=name, seal=seal):
            yield f"{name}/outcome", seal
        case events.MessageCompleted(parts=parts):
            yield from ((part.part, part.seal) for part in parts)
        case events.ModelRetry(note=name, seal=seal) | events.TurnEnded(note=str(name), seal=str(seal)):
            yield name, seal
        case events.AskAnswered(ask=name, feedback_seal=str(seal)):
            yield f"{name}/feedback", seal


async def _contents(database: Database, rows: Rows) -> dict[str, str]:
    """Seals of the stored contents that these events vouch for, recomputed; the contents go by one after the other."""
    told = [found for row in rows if (found := _readable(bytes(row["canonical"]))) is not None]
    ids = sorted({name.partition("/")[0] for each in told for name, _ in _seals(each)})
    async with aclosing(database.stream(_QUERIES.contents, ids=ids)) as contents:
        return {row["id"]: chain.sealed(bytes(row["salt"]), row["body"].encode()) async for row in contents}


async def _tail(database: Database, session: SessionId, seq: int, head: bytes) -> str | None:
    found = await database.rows(_QUERIES.head, session=session)
    if not found:
        return "the session's row is missing"
    last = found[0]["seq"]
    if last > seq:
        return f"events {seq + 1} to {last} are missing at the end"
    return None if (last, bytes(found[0]["head"])) == (seq, head) else "the session's row names another last event"


async def _page(database: Database, query: bytes, session: SessionId, seq: int, limit: int) -> Rows:
    return await database.rows(query, session=session, after=seq, limit=limit)


def _readable(canonical: bytes) -> Record | None:
    """The event of these bytes; None when they are no event's."""
    try:
        return record(canonical)
    except ValueError:
        return None


def record(canonical: bytes) -> Record:
    """An event of its canonical bytes."""
    return RECORDS.validate_python(json.loads(canonical.decode("utf-8", "surrogatepass")))
