"""Sessions as people list and find them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.archive_location import ArchiveLocation
from workflows.domain.errors import NotFound
from workflows.domain.ids import PartId, ScheduleId, SessionId, SuspensionId, TurnId
from workflows.domain.session_filter import SessionFilter
from workflows.domain.suspension import SuspendCause
from workflows.domain.value import Value
from workflows.domain.waits import WaitSubject

_QUERIES: Final = Queries("overviews")


class BackoffRow(Value):
    """A provider's `attempt`th failure; the next request is at `until`."""

    attempt: int
    kind: str
    message: str | None
    until: datetime


class OpenWaitRow(Value):
    """What a call of the session waits for. `until`: its moment, or the latest one."""

    call: PartId
    subject: WaitSubject
    until: datetime | None


class SuspensionRow(SuspendCause):
    """Why a session is suspended."""

    id: SuspensionId


class OverviewRow(Value):
    """A session for listings, with its newest turn. `waiting`: untaken prompts; `untaken`: all untaken work.
    `background`: tasks whose results will wake it; `held`: results that do not. `depth`: levels below the listed
    session. `host_offline`: its host has no live worker. `default_title`: OpenCode's, as long as `title` is only the
    first prompt's first line."""

    id: SessionId
    parent: SessionId | None
    depth: int
    host: str | None
    host_offline: bool
    directory: str
    title: str
    default_title: str | None
    agent: str
    model: str | None
    status: str
    seq: int
    stuck: str | None
    created_at: datetime
    updated_at: datetime
    turn: TurnId | None
    number: int | None
    step: int | None
    turn_state: str | None
    reason: str | None
    error: str | None
    asks: int
    waiting: int
    untaken: int
    background: int
    held: int
    pause: BackoffRow | None
    waits: tuple[OpenWaitRow, ...]
    suspension: SuspensionRow | None
    archive: ArchiveLocation | None = None
    schedule: ScheduleId | None = None
    deleted_messages: int = 0


async def list_recent(
    database: Database,
    *,
    session: SessionId | None = None,
    roots: Sequence[SessionId] | None = None,
    limit: int | None = 1000,
) -> list[OverviewRow]:
    """People's sessions, all or these `roots`, the last changed first, each followed by its subagents'; or one
    `session`."""
    ids = None if roots is None else list(roots)
    rows = await database.rows(_QUERIES.list_recent, id=session, roots=ids, limit=limit)
    return [OverviewRow(**row) for row in rows]


async def count(database: Database) -> int:
    """Count the sessions that people started."""
    (row,) = await database.rows(_QUERIES.count)
    return int(row["count"])


async def search(
    database: Database, wanted: SessionFilter, host: str | None, limit: int | None
) -> tuple[list[SessionId], int]:
    """People's sessions that match, or have a subagent's that does, the last changed first; how many there are.

    `host` has the directories.
    """
    values = wanted.model_dump(mode="python", exclude={"text", "below", "states", "agents"})
    below = None if wanted.below is None else wanted.below.rstrip("/") + "/"
    lists = {"states": list(wanted.states) or None, "agents": list(wanted.agents) or None}
    rows = await database.rows(
        _QUERIES.search, **values, **lists, below=below, title=wanted.text, host=host, limit=limit
    )
    return [row["id"] for row in rows], rows[0]["total"] if rows else 0


async def get(database: Database, session: SessionId) -> OverviewRow:
    """Raises NotFound."""
    found = await list_recent(database, session=session)
    if not found:
        raise NotFound(f"There is no session {session!r}. `holdfast sessions` lists the sessions there are.")
    return found[0]
