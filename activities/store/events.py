"""The event log: read, watch, verify."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence, Set
from contextlib import aclosing
from typing import Any, Final

from pydantic import JsonValue

from activities.store.database import Database
from activities.store.notification_hub import WatchProgress
from activities.store.pg_protocol import Rows
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain import hash_chain
from workflows.domain.events.asks import AskAnswered
from workflows.domain.events.calls import CallClaimed, CallFinished, CallPrepared, RecordedDecision
from workflows.domain.events.compactions import CompactionAccepted
from workflows.domain.events.copies import MessageCopied, SessionImported
from workflows.domain.events.event import EVENT_RECORD_ADAPTER, EventRecord
from workflows.domain.events.generations import CompactionFailed, ContextCompacted, MessageCompleted, ModelRetry
from workflows.domain.events.prompts import PromptAccepted, PromptShortened, PromptTaken
from workflows.domain.events.sessions import AsideFailed, SessionDeleted, SessionTitled
from workflows.domain.events.tasks import TaskSettled
from workflows.domain.events.turns import ConfigurationChanged, TurnEnded, TurnModelChanged, TurnOpened
from workflows.domain.events.waits import WaitEnded
from workflows.domain.ids import AskId, MessageId, SessionId, answer_id
from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.replies import Reply
from workflows.domain.views.sessions import Verification

_QUERIES: Final = Queries("events")
_PAGE: Final = 500
_VERIFY_BATCH: Final = 100  # events verified together with the contents that they seal


async def after(database: Database, session: SessionId, seq: int = 0) -> AsyncIterator[EventRecord]:
    """Events after `seq` up to the present end."""
    while True:
        rows = await _page(database, _QUERIES.after, session, seq, _PAGE)
        for row in rows:
            seq = row["seq"]
            yield parse_record(bytes(row["canonical"]))
        if len(rows) < _PAGE:
            return


async def contents(database: Database, records: Sequence[EventRecord]) -> dict[str, JsonValue]:
    """The contents that these events name, by id."""
    ids = sorted({name for record in records for name in content_ids(record)})
    if not ids:
        return {}
    return {row["id"]: row["body"] for row in await database.rows(_QUERIES.contents, ids=ids)}


def content_ids(record: EventRecord) -> Iterator[str]:
    fields = dict(record.event)
    if isinstance(record.event, PromptAccepted):
        del fields["call"]  # belongs to the parent's session, in whose log it stands
    yield from (fields[name] for name in ("prompt", "call", "ask", "note", "message") if fields.get(name))
    if isinstance(record.event, PromptAccepted | PromptTaken):
        yield f"{record.event.prompt}/work"
    if isinstance(record.event, TurnOpened | TurnModelChanged | TurnEnded):
        yield record.event.turn
    if isinstance(record.event, ContextCompacted):
        yield answer_id(record.event.generation)
    if isinstance(record.event, MessageCompleted):
        yield from [record.event.turn] if record.event.turn is not None else []
        yield from (part.part for part in record.event.parts)
        if record.event.reminders_seal is not None:
            yield record.event.generation
    if isinstance(record.event, MessageCopied):
        yield from {copied.part.partition("/")[0] for copied in record.event.contents}
        yield from (copied.part for copied in record.event.contents if copied.kind == "imported")  # notes
        if record.event.turn is not None:
            yield from (record.event.turn, f"{record.event.message}/work")


async def newest(database: Database) -> dict[SessionId, int]:
    """The number of the last event of each session."""
    return {row["session"]: row["seq"] for row in await database.rows(_QUERIES.heads)}


async def ticks(
    database: Database, session: SessionId, progress: Callable[[], WatchProgress]
) -> AsyncGenerator[Set[SessionId], None]:
    """Tick now, then whenever the followed sessions may have more than `progress` has read; yields which, and
    ALL_SESSIONS, if that is followed, for any of them.

    A lost notification delays a tick by about a second. Meanwhile the sessions count as followed and `session` as
    watched (`pg_notify`). Raises Unavailable when the listening connection is lost.
    """
    with database.hub.subscribe(session) as subscription:
        while True:
            subscription.follow(progress())
            yield await subscription.wait()


async def verify(database: Database, session: SessionId) -> Verification:
    """Recompute the hash chain, the seals of stored contents (erased ones are no problem), and the heads of subagents'
    logs."""
    check = ChainCheck()
    await _add_events(database, database, session, check)
    if check.problem is None:
        # The session may go on meanwhile: its end and what rows say of it belong together.
        async with database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ") as end:
            await _add_events(database, end, session, check)
            problem = check.problem or await _tail_problem(end, session, check)
            check.problem = problem or await _context_problem(end, session, check)
    return check.verification(session)


async def _add_events(database: Database, reader: RowReader, session: SessionId, check: "ChainCheck") -> None:
    """Check all further events, up to the first problem."""
    while rows := await _page(reader, _QUERIES.hash_chain, session, check.seq, _VERIFY_BATCH):
        contents = await _recomputed_seals(database, rows)
        for row in rows:
            record = check.add(row, contents)
            if record is not None and isinstance(record.event, TaskSettled):
                check.problem = await _child_problem(database, record.seq, record.event)
        if check.problem is not None:
            return


class ChainCheck:
    """Recomputes a session's hash chain, row by row, up to the first problem."""

    def __init__(self) -> None:
        self.seq = 0
        self.head = hash_chain.GENESIS
        self.problem: str | None = None
        self.summaries: dict[MessageId, ContextCompacted | MessageCopied] = {}
        self.shortened: dict[MessageId, tuple[int | None, bool]] = {}
        self.deleted = False
        self._answers: dict[AskId, EventRecord] = {}
        self._prompts: dict[MessageId, str] = {}  # authors

    def add(self, row: dict[str, Any], contents: dict[str, str]) -> EventRecord | None:
        """The event of the next row; None after a problem. `contents`: the recomputed seals."""
        if self.problem is not None:
            return None
        record = _readable(bytes(row["canonical"]))
        self.problem = self._row_problem(row, record)
        if record is not None and self.problem is None:
            self.problem = self._record_problem(record, contents)
        if self.problem is not None:
            return None
        self.seq, self.head = row["seq"], bytes(row["hash"])
        return record

    def verification(self, session: SessionId) -> Verification:
        return Verification(session=session, events=self.seq, head=self.head.hex(), problem=self.problem)

    def _row_problem(self, row: dict[str, Any], record: EventRecord | None) -> str | None:
        link = hash_chain.Link(row["seq"], *(bytes(row[name]) for name in ("canonical", "prev_hash", "hash")))
        name = f"event {link.seq} ({row['type']})"
        problem = hash_chain.link_problem("event", name, self.seq, self.head, link)
        if problem is None and (record is None or (record.seq, record.event.type) != (link.seq, row["type"])):
            return f"{name} holds another event's bytes"
        return problem

    def _record_problem(self, record: EventRecord, contents: dict[str, str]) -> str | None:
        """A content that was changed, or a claim that no earlier answer explains."""
        for name, seal in _seals(record):
            if contents.get(name, seal) != seal:
                return f"event {record.seq} ({record.event.type}): the content of {name} was changed afterwards"
        self._remember(record)
        if isinstance(record.event, CallClaimed):
            for decision in record.event.decisions:
                if decision.by == "answer" and not self._explains(decision, record.event):
                    return (
                        f"event {record.seq} (call.claimed): nothing in the log explains that {decision.author!r} "
                        f"allowed {record.event.call} by {decision.ask}"
                    )
                if decision.by == "prompt" and not self._was_ordered(decision):
                    return (
                        f"event {record.seq} (call.claimed): nothing in the log explains that {decision.author!r} "
                        f"asked for {record.event.call} by the prompt {decision.prompt}"
                    )
        return None

    def _remember(self, record: EventRecord) -> None:
        """Keep what later events and rows are compared with."""
        match record.event:
            case AskAnswered(ask=ask):
                self._answers[ask] = record
            case PromptAccepted(prompt=prompt):
                self._prompts[prompt] = record.actor.subject
            case ContextCompacted(generation=generation):
                self.summaries[answer_id(generation)] = record.event
            case MessageCopied(message=message, role="summary"):
                self.summaries[message] = record.event
            case SessionDeleted():
                self.deleted = True
            case PromptShortened(prompt=prompt):
                self.shortened[prompt] = record.event.shown, record.event.without_files

    def _was_ordered(self, decision: RecordedDecision) -> bool:
        return decision.prompt is not None and self._prompts.get(decision.prompt) == decision.author

    def _explains(self, decision: RecordedDecision, claim: CallClaimed) -> bool:
        """An answer to the loop guard holds for any effect of the call."""
        logged = self._answers.get(decision.ask) if decision.ask is not None else None
        if logged is None or not isinstance(logged.event, AskAnswered):
            return False
        answer = logged.event
        same = (answer.call, logged.actor.subject) == (claim.call, decision.author) and answer.reply != Reply.REJECT
        return same and (decision.permission == loop_guard.PERMISSION or answer.digest == (claim.digest or ""))


async def _child_problem(database: Database, seq: int, settled: TaskSettled) -> str | None:
    found = await database.rows(_QUERIES.hash, session=settled.child, seq=settled.seq)
    if found and found[0]["hash"] == settled.head:
        return None
    return f"event {seq} (task.settled): event {settled.seq} of {settled.child} is not the one that was its last then"


def _seals(record: EventRecord) -> Iterator[tuple[str, str]]:
    match record.event:
        case PromptAccepted(prompt=name, seal=seal) | CallPrepared(call=name, seal=seal):
            yield name, seal
        case CallFinished(call=name, seal=seal):
            yield f"{name}/outcome", seal
        case MessageCompleted(generation=name, parts=parts, reminders_seal=seal):
            yield from ((part.part, part.seal) for part in parts)
            if seal is not None:
                yield f"{name}/reminders", seal
        case (
            ModelRetry(note=name, seal=seal)
            | CompactionFailed(note=name, seal=seal)
            | CompactionAccepted(note=str(name), seal=str(seal))
            | ConfigurationChanged(note=name, seal=seal)
            | TurnModelChanged(note=str(name), seal=str(seal))
            | TurnEnded(note=str(name), seal=str(seal))
            | SessionTitled(note=name, seal=seal)
            | AsideFailed(note=name, seal=seal)
            | SessionImported(note=name, seal=seal)
            | WaitEnded(note=str(name), seal=str(seal))
        ):
            yield name, seal
        case AskAnswered(ask=name, feedback_seal=feedback, answers_seal=answers):
            yield from [(f"{name}/feedback", feedback)] if feedback is not None else []
            yield from [(f"{name}/answers", answers)] if answers is not None else []
        case MessageCopied(contents=contents):
            yield from ((copied.part, copied.seal) for copied in contents)


async def _recomputed_seals(database: Database, rows: Rows) -> dict[str, str]:
    """Holds one content at a time."""
    logged = [found for row in rows if (found := _readable(bytes(row["canonical"]))) is not None]
    names = {name for each in logged for name, _ in _seals(each)}
    ids = sorted(names | {name.partition("/")[0] for name in names})  # notes have such names; the rest are of rows
    async with aclosing(database.stream(_QUERIES.sealed_contents, ids=ids)) as contents:
        return {row["id"]: hash_chain.salted_hash(bytes(row["salt"]), row["body"].encode()) async for row in contents}


async def _tail_problem(reader: RowReader, session: SessionId, check: ChainCheck) -> str | None:
    found = await reader.rows(_QUERIES.head, session=session)
    if not found:
        return "the session's row is missing"
    last = found[0]["seq"]
    if last > check.seq:
        return f"events {check.seq + 1} to {last} are missing at the end"
    return (
        None
        if (last, bytes(found[0]["head"])) == (check.seq, check.head)
        else "the session's row names another last event"
    )


async def _context_problem(reader: RowReader, session: SessionId, check: ChainCheck) -> str | None:
    """Whether what models read of the session is what its log says; of a deleted one nothing is left."""
    if check.deleted:
        return None
    rows = await reader.rows(_QUERIES.compactions, session=session)
    found = {answer_id(row["generation"]): row for row in rows}
    if found.keys() != check.summaries.keys() or not all(
        _has_mark(found[name], event) for name, event in check.summaries.items()
    ):
        return "the marks of its summaries are not those in its log"
    rows = await reader.rows(_QUERIES.shortened_prompts, session=session)
    prompts = {row["id"]: (row["shown"], row["without_files"]) for row in rows}
    return None if prompts == check.shortened else "the lengths of its shortened prompts are not those in its log"


def _has_mark(row: dict[str, Any], event: ContextCompacted | MessageCopied) -> bool:
    if (row["turn"], row["step"]) != (event.turn, event.step):
        return False
    return event.newest is None or (row["newest"], row["media"]) == (event.newest, event.media)


async def _page(reader: RowReader, query: bytes, session: SessionId, seq: int, limit: int) -> Rows:
    return await reader.rows(query, session=session, after=seq, limit=limit)


def _readable(canonical: bytes) -> EventRecord | None:
    try:
        return parse_record(canonical)
    except (ValueError, RecursionError):
        return None


def parse_record(canonical: bytes) -> EventRecord:
    """Raises ValueError."""
    return EVENT_RECORD_ADAPTER.validate_python(json.loads(canonical.decode("utf-8", "surrogatepass")))
