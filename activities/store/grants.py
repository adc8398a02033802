"""Grants: stored, listed, revoked."""

from datetime import datetime, timedelta
from typing import Final

from psycopg.rows import dict_row

from activities.store.database import Database, dumps
from activities.store.journal import Journal, journal
from activities.store.queries import Queries
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
    revoked_at: datetime | None
    revoked_by: str | None


async def keep(opened: Journal, grant: Grant, ask: AskId) -> None:
    """Store what an "always" grants."""
    wide = grant.scope is Scope.PROJECT
    await opened.run(
        _QUERIES.keep,
        id=grant.id,
        session=opened.session,
        project=opened.directory if wide else None,
        body=dumps(grant.model_dump(mode="json")),
        author=grant.author,
        expires_at=grant.time + _PROJECT_LIFE if wide else None,
    )
    opened.record(
        GrantMade(grant=grant.id, ask=ask, scope=grant.scope, permission=grant.permission, patterns=grant.patterns)
    )


async def live(opened: Journal) -> tuple[Grant, ...]:
    """The grants that hold in this session now."""
    rows = await opened.rows(_QUERIES.live, session=opened.session, directory=opened.directory)
    return tuple(Grant.model_validate(row["body"]) for row in rows)


async def used(opened: Journal, grant: GrantId) -> None:
    """Count a use."""
    await opened.run(_QUERIES.used, grant=grant)


async def listed(database: Database, *, revoked_too: bool = False) -> list[GrantRow]:
    """All grants that hold, or all there ever were."""
    async with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES.listed, {"all": revoked_too})
        rows = await cursor.fetchall()
    fields = [name for name in GrantRow.model_fields if name != "grant"]
    return [GrantRow(grant=Grant.model_validate(row["body"]), **{name: row[name] for name in fields}) for row in rows]


async def revoke(database: Database, grant: GrantId, actor: Actor) -> None:
    """Revoke a grant: calls that are not claimed yet ask again. Raises NotFound, Conflict."""
    async with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES.find, {"grant": grant})
        row = await cursor.fetchone()
    if row is None:
        raise NotFound(f"There is no grant {grant!r}. `holdfast grants` lists them.")
    async with journal(database, row["session"], actor) as opened:
        if not await opened.run(_QUERIES.revoke, grant=grant, author=actor.subject):
            raise Conflict(f"The grant {grant!r} was revoked before.")
        opened.record(GrantRevoked(grant=grant))
