"""Turns: at most one of a session is open."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Json

from activities.store import notes, tasks
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import Reads
from workflows.domain.closing import CloseReason
from workflows.domain.errors import StaleFence
from workflows.domain.events import TurnEnded, TurnOpened
from workflows.domain.ids import NoteId, RetryId, SessionId, SnapshotId, TurnId
from workflows.domain.value import Value

if TYPE_CHECKING:
    from workflows.domain.config.snapshot import ProjectSnapshot

_QUERIES: Final = Queries("turns")
_SNAPSHOTS: Final = Queries("snapshots")


class TurnRow(Value):
    """An open turn's row; `error`: why nothing can be done in it but to end it."""

    id: TurnId
    number: int
    snapshot: SnapshotId
    agent: str
    model: str
    step: int
    error: str | None = None


class TurnStanding(Value):
    """Whether a turn may still go on, and what it was opened with."""

    state: str
    snapshot: SnapshotId
    agent: str
    model: str
    number: int
    stopped: bool

    @property
    def over(self) -> bool:
        return self.state != "open" or self.stopped


class CutShort(Value):
    """A turn that ended before its work was done: why, and the words that a person was told."""

    id: TurnId
    number: int
    agent: str
    model: str
    reason: CloseReason
    error: str | None
    opened_at: datetime
    ended_at: datetime


async def cut_short(reads: Reads, session: SessionId) -> list[CutShort]:
    """The turns of a session that failed, were stopped, or ended with it, the first one first."""
    return [CutShort(**row) for row in await reads.rows(_QUERIES.cut_short, session=session)]


async def open_turn(opened: Journal) -> TurnRow | None:
    """The session's open turn."""
    row = await opened.row(_QUERIES.open_turn, session=opened.session)
    return TurnRow(**row) if row else None


async def standing(opened: Journal, turn: TurnId) -> TurnStanding:
    """How a turn stands now. Raises StaleFence for a turn that is none of this session's."""
    row = await opened.row(_QUERIES.state, turn=turn, session=opened.session)
    if row is None:
        raise StaleFence(f"Session {opened.session!r} has no turn {turn!r}.")
    return standing_of(row)


async def over(opened: Journal, turn: TurnId) -> str | None:
    """Why nothing of an open turn is to run any more: a stop names it, or its session has ended, or that is so of a
    turn that it works for as a subagent. None: it may go on."""
    row = await opened.row(_QUERIES.over, turn=turn)
    if row is None:
        return None
    if row["session_ended"]:
        return f"session {row['session']!r} has ended"
    stopped = f"the turn of {row['session']!r} that it works for" if row["above"] else "its turn"
    return f"{stopped} was stopped by {row['author']} ({row['accepted_at']:%Y-%m-%d %H:%M:%S %Z})"


def standing_of(row: dict[str, Any]) -> TurnStanding:
    """A turn's standing, from a row that has it among others."""
    return TurnStanding.model_validate({name: row[name] for name in TurnStanding.model_fields})


async def open_new(
    opened: Journal,
    turn: TurnId,
    snapshot: "ProjectSnapshot",
    agent: str,
    model: str,
    *,
    error: str | None = None,
    retry: RetryId | None = None,
) -> TurnRow:
    """Open a turn under a frozen configuration; with `error`, one that can only end with it."""
    frozen = snapshot.id
    opened.write(_SNAPSHOTS.keep, id=frozen, body=Json(snapshot.model_dump(mode="json")))
    last: dict[str, Any] | None = await opened.row(_QUERIES.last_number, session=opened.session)
    number = (last["number"] if last else 0) + 1
    row = TurnRow(id=turn, number=number, snapshot=frozen, agent=agent, model=model, step=0, error=error)
    opened.write(_QUERIES.open, session=opened.session, **row.model_dump(exclude={"step"}))
    opened.record(TurnOpened(turn=turn, number=number, snapshot=frozen, agent=agent, model=model, retry=retry))
    return row


async def snapshot(opened: Journal, identity: SnapshotId) -> "ProjectSnapshot":
    """The configuration that a turn was opened with. Raises StaleFence for an unknown one."""
    return await opened.snapshots.get(opened, identity)


def registered(opened: Journal, turn: TurnId, step: int) -> None:
    """Note that a step of the turn was begun."""
    opened.write(_QUERIES.registered, turn=turn, step=step)


async def close(opened: Journal, turn: TurnId, reason: str, error: str | None) -> None:
    """End a turn; one that has ended already is left as it is."""
    if await opened.row(_QUERIES.close, turn=turn, reason=reason, error=error):
        note = NoteId(f"{turn}/error") if error else None
        words = notes.keep(opened, note, error) if note and error else None
        opened.record(TurnEnded(turn=turn, reason=reason, note=note, seal=words))
        tasks.turn_ended(opened, turn)
        tasks.heard(opened, turn)
