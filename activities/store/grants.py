"""Grants: store, list, revoke."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from activities.store.database import Database, dumps
from activities.store.journal import Journal, session_journal
from activities.store.pg_protocol import Rows
from activities.store.queries import Queries
from workflows.domain.actor import Actor
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.grants import GrantMade, GrantRevoked
from workflows.domain.ids import AskId, GrantId, SessionId
from workflows.domain.permissions.grants import Grant, GrantScope
from workflows.domain.views.grants import GrantEntry

_QUERIES: Final = Queries("grants")
_PROJECT_LIFE: Final = timedelta(days=30)  # security.md 5; a session's grants end with the session


def store(journal: Journal, grant: Grant, ask: AskId) -> None:
    wide = grant.scope is GrantScope.PROJECT
    journal.write(
        _QUERIES.insert,
        id=grant.id,
        session=journal.session,
        project=journal.version.directory if wide else None,
        body=dumps(grant.model_dump(mode="json")),
        author=grant.author,
        seconds=_PROJECT_LIFE.total_seconds() if wide else None,
    )
    journal.record(
        GrantMade(grant=grant.id, ask=ask, scope=grant.scope, permission=grant.permission, patterns=grant.patterns)
    )


async def list_live(journal: Journal) -> tuple[Grant, ...]:
    return _grants(await journal.rows(_QUERIES.live, session=journal.session))


def live_later(journal: Journal) -> Callable[[], tuple[Grant, ...]]:
    """The live grants, read with the other statements: call the result after the transaction."""
    pending = journal.submit(_QUERIES.live, session=journal.session)
    return lambda: _grants(pending.result())


def _grants(rows: Rows) -> tuple[Grant, ...]:
    return tuple(Grant.model_validate(row["body"]) for row in rows)


def count_uses(journal: Journal, used: Iterable[GrantId]) -> None:
    """All of a transaction's: sessions of a project lock its grants in one order."""
    for grant in sorted(used):
        journal.write(_QUERIES.count_use, grant=grant)


async def unpropagated(database: Database, before: datetime) -> list[GrantId]:
    """Project grants that may not have answered other sessions' asks yet."""
    return [row["id"] for row in await database.rows(_QUERIES.unpropagated, before=before)]


async def waiting_sessions(database: Database, grant: GrantId) -> list[SessionId]:
    """The project's sessions with open asks."""
    return [row["session"] for row in await database.rows(_QUERIES.waiting_sessions, grant=grant)]


async def mark_propagated(database: Database, grant: GrantId) -> None:
    await database.rows(_QUERIES.mark_propagated, grant=grant)


async def list_all(database: Database, *, include_revoked: bool = False) -> list[GrantEntry]:
    rows = await database.rows(_QUERIES.list_all, all=include_revoked)
    fields = [name for name in GrantEntry.model_fields if name != "grant"]
    return [GrantEntry(grant=Grant.model_validate(row["body"]), **{name: row[name] for name in fields}) for row in rows]


async def revoke(database: Database, grant: GrantId, actor: Actor) -> None:
    """Calls not yet claimed ask again. A project's grant outlives its session. Raises NotFound, Conflict."""
    found = await database.rows(_QUERIES.find, grant=grant)
    if not found:
        raise NotFound(f"There is no grant {grant!r}. `holdfast grants` lists them.")
    async with session_journal(database, found[0]["session"], actor, even_deleted=True) as journal:
        if not await journal.row(_QUERIES.revoke, grant=grant, author=actor.subject):
            raise Conflict(f"The grant {grant!r} was revoked before.")
        journal.record(GrantRevoked(grant=grant))
