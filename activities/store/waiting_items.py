"""What waits for a person, and what a shell completes; apart from `asks`, to import little."""

from typing import Any, Final

from activities.store import turn_configs
from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.requests import PermissionAsk
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import turn_subject
from workflows.domain.views.inbox import Completion, InboxEntry, SuspendedSession

_ASKS: Final = Queries("asks")
_SUSPENSIONS: Final = Queries("suspensions")
_COMPLETIONS: Final = Queries("completions")


async def pending_asks(
    database: Database, *, ask: AskId | None = None, session: SessionId | None = None, limit: int | None = None
) -> list[InboxEntry]:
    """The open asks of all sessions, or of one and those below, the oldest first; or one in any state, by its id or
    name (`ask`)."""
    rows = await database.rows(_ASKS.inbox, ask=ask, session=session, limit=limit)
    rules = await turn_configs.rules(database, {row["turn_config"] for row in rows})
    return [_entry(row, rules[row["turn_config"]]) for row in rows]


async def pending_ask_ids(database: Database) -> list[AskId]:
    """The ids of open asks, the oldest first."""
    return [row["id"] for row in await database.rows(_ASKS.open_ids)]


async def suspended_sessions(database: Database, session: SessionId | None = None) -> list[SuspendedSession]:
    """Suspended sessions in the order of suspension, without those below a suspended one."""
    return [SuspendedSession(**row) for row in await database.rows(_SUSPENSIONS.open, session=session)]


def _entry(row: dict[str, Any], rules: Rulesets) -> InboxEntry:
    named = {name: row[name] for name in InboxEntry.model_fields if name not in ("request", "savable", "reasons")}
    entry = InboxEntry(**named | {"tool": row["tool"] or turn_subject(row["body"]), "request": row["body"]})
    if not isinstance(entry.request, PermissionAsk):
        return entry
    savable, why = rules.savable(entry.request), rules.reasons_of(entry.request)
    return entry.model_copy(update={"savable": savable, "reasons": why})


async def complete_sessions(database: Database, prefix: str) -> list[Completion]:
    """Sessions, the last changed first."""
    return [Completion(**row) for row in await database.rows(_COMPLETIONS.sessions, prefix=prefix)]


async def complete_asks(database: Database, prefix: str) -> list[Completion]:
    """Open asks, the oldest first."""
    return [Completion(**row) for row in await database.rows(_COMPLETIONS.asks, prefix=prefix)]


async def complete_grants(database: Database, prefix: str) -> list[Completion]:
    """Live grants, the newest first."""
    rows = await database.rows(_COMPLETIONS.grants, prefix=prefix)
    return [Completion(id=row["id"], title=f"{row['body']['permission']}, {row['title']}") for row in rows]


async def complete_schedules(database: Database, prefix: str) -> list[Completion]:
    """Schedules that are not deleted, the next due first."""
    return [Completion(**row) for row in await database.rows(_COMPLETIONS.schedules, prefix=prefix)]
