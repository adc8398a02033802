"""Grants: stored, listed, revoked."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from activities.store.database import Database, dumps
from activities.store.journal import Journal, journal
from activities.store.queries import Queries
from activities.store.wire import Rows
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events import Actor, GrantMade, GrantRevoked
from workflows.domain.ids import AskId, GrantId, SessionId
from workflows.domain.permissions.grants import Grant, Scope
from workflows.domain.value import Value

_QUERIES: Final = Queries("grants")
_PROJECT_LIFE: Final = timedelta(days=30)  # security.md 5; a session's grants end with the session


class GrantRow(Value):
    """A grant as listings show it."""

    grant: Grant
    session: SessionId
    project: str | None
    uses: int
    expires_at: datetime | None
    expired: bool
    revoked_at: datetime | None
    revoked_by: str | None


def keep(opened: Journal, grant: Grant, ask: AskId) -> None:
    """Store what an "always" grants."""
    wide = grant.scope is Scope.PROJECT
    opened.write(
        _QUERIES.keep,
        id=grant.id,
        session=opened.session,
        project=opened.place.directory if wide else None,
        body=dumps(grant.model_dump(mode="json")),
        author=grant.author,
        seconds=_PROJECT_LIFE.total_seconds() if wide else None,
    )
    opened.record(
        GrantMade(grant=grant.id, ask=ask, scope=grant.scope, permission=grant.permission, patterns=grant.patterns)
    )


async def live(opened: Journal) -> tuple[Grant, ...]:
    """The grants that hold in this session now."""
    return _grants(await opened.rows(_QUERIES.live, session=opened.session))


def live_later(opened: Journal) -> Callable[[], tuple[Grant, ...]]:
    """What gives, when the transaction is over, the grants that held in it."""
    asked = opened.later(_QUERIES.live, session=opened.session)
    return lambda: _grants(asked.result())


def _grants(rows: Rows) -> tuple[Grant, ...]:
    return tuple(Grant.model_validate(row["body"]) for row in rows)


def used(opened: Journal, grant: GrantId) -> None:
    """Count a use."""
    opened.write(_QUERIES.used, grant=grant)


async def unspread(database: Database, before: datetime) -> list[GrantId]:
    """Grants for a project, given before this moment, that may not have reached its other sessions."""
    return [row["id"] for row in await database.rows(_QUERIES.unspread, before=before)]


async def reaches(database: Database, grant: GrantId) -> list[SessionId]:
    """The sessions of the grant's project that wait for an answer."""
    return [row["session"] for row in await database.rows(_QUERIES.reaches, grant=grant)]


async def spread(database: Database, grant: GrantId) -> None:
    """Note that the grant has reached all sessions of its project."""
    await database.rows(_QUERIES.spread, grant=grant)


async def listed(database: Database, *, revoked_too: bool = False) -> list[GrantRow]:
    """All grants that hold, or all there ever were."""
    rows = await database.rows(_QUERIES.listed, all=revoked_too)
    fields = [name for name in GrantRow.model_fields if name != "grant"]
    return [GrantRow(grant=Grant.model_validate(row["body"]), **{name: row[name] for name in fields}) for row in rows]


async def revoke(database: Database, grant: GrantId, actor: Actor) -> None:
    """Revoke a grant: calls that are not claimed yet ask again. Raises NotFound, Conflict."""
    found = await database.rows(_QUERIES.find, grant=grant)
    if not found:
        raise NotFound(f"There is no grant {grant!r}. `holdfast grants` lists them.")
    async with journal(database, found[0]["session"], actor) as opened:
        if not await opened.row(_QUERIES.revoke, grant=grant, author=actor.subject):
            raise Conflict(f"The grant {grant!r} was revoked before.")
        opened.record(GrantRevoked(grant=grant))
