"""Compactions that a person has asked for: before the next step of a turn, or in a turn of their own."""

from collections.abc import Sequence
from typing import Final

from activities.store import work
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from activities.store.work import TurnRequest, WorkItem, WorkKind
from workflows.domain.errors import Conflict
from workflows.domain.events.compactions import CompactionAccepted, CompactionTaken, CompactionWithdrawn
from workflows.domain.ids import CompactionId, NoteId, SessionId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("compaction_requests")


class CompactionRequestRow(Value):
    """`focus`: what the summary should keep above all. `taken`: by a turn."""

    id: CompactionId
    focus: str | None
    taken: bool


async def accept(journal: Journal, compaction: CompactionId, focus: str | None = None) -> None:
    """Idempotent. Raises Conflict where nothing can be compacted, or it is asked for already."""
    item = WorkItem(id=compaction, kind=WorkKind.COMPACTION)
    if await work.was_accepted(journal, item):
        return
    if journal.ended:
        raise Conflict(f"Session {journal.session!r} has ended; start a new one with `holdfast run`.")
    if await journal.row(_QUERIES.any_answer, session=journal.session) is None:
        raise Conflict(f"Session {journal.session!r} has no answer yet, so there is nothing to compact.")
    if await journal.row(_QUERIES.untaken, session=journal.session) is not None:
        raise Conflict(f"A compaction of session {journal.session!r} is asked for already, and about to begin.")
    note = seal = None
    if focus:
        note = NoteId(f"{compaction}/focus")
        seal = journal.store_note(note, focus)
    work.accept(journal, item, journal.record(CompactionAccepted(compaction=compaction, note=note, seal=seal)))
    journal.write(_QUERIES.accept, id=compaction)


async def request_turn(journal: Journal, item: WorkItem) -> TurnRequest:
    return TurnRequest(item=item, agent=None, model=None)


def take(journal: Journal, item: WorkItem, turn: TurnId) -> None:
    work.take(journal, item, turn)
    journal.record(CompactionTaken(compaction=CompactionId(item.id), turn=turn))


def withdraw(journal: Journal, item: WorkItem, reason: str) -> None:
    work.withdraw(journal, item)
    journal.record(CompactionWithdrawn(compaction=CompactionId(item.id), reason=reason))


async def undone(reader: RowReader, session: SessionId, turn: TurnId) -> list[CompactionRequestRow]:
    """Requests that wait for a turn, and those that this turn has taken and not carried out."""
    rows = await reader.rows(_QUERIES.undone, session=session, turn=turn)
    return [CompactionRequestRow(**row) for row in rows]


async def by_id(reader: RowReader, compactions: Sequence[CompactionId]) -> list[CompactionRequestRow]:
    """The requests with these ids, in the order of acceptance."""
    return [CompactionRequestRow(**row) for row in await reader.rows(_QUERIES.by_id, ids=list(compactions))]


async def take_undone(journal: Journal, turn: TurnId) -> list[CompactionRequestRow]:
    found = await undone(journal, journal.session, turn)
    for request in found:
        if not request.taken:
            take(journal, WorkItem(id=request.id, kind=WorkKind.COMPACTION), turn)
    return found


def finish(journal: Journal, turn: TurnId) -> None:
    """Whatever came of those that this turn has taken."""
    journal.write(_QUERIES.finish, turn=turn)


async def opened(reader: RowReader, turn: TurnId) -> bool:
    """Whether the turn was opened by one, and so does nothing else."""
    rows = await reader.rows(_QUERIES.opener, turn=turn)
    return bool(rows) and rows[0]["kind"] == WorkKind.COMPACTION
