"""Sessions as people list and find them."""

from collections.abc import Sequence
from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.errors import NotFound
from workflows.domain.ids import SessionId
from workflows.domain.session_filter import SessionFilter
from workflows.domain.views.sessions import Overview

_QUERIES: Final = Queries("overviews")


async def list_recent(
    database: Database,
    *,
    session: SessionId | None = None,
    roots: Sequence[SessionId] | None = None,
    limit: int | None = 1000,
) -> list[Overview]:
    """People's sessions, all or these `roots`, the last changed first, each followed by its subagents'; or one
    `session`."""
    ids = None if roots is None else list(roots)
    rows = await database.rows(_QUERIES.list_recent, id=session, roots=ids, limit=limit)
    return [Overview(**row) for row in rows]


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


async def get(database: Database, session: SessionId) -> Overview:
    """Raises NotFound."""
    found = await list_recent(database, session=session)
    if not found:
        raise NotFound(f"There is no session {session!r}. `holdfast sessions` lists the sessions there are.")
    return found[0]
