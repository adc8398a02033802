"""What waits for a person; apart from `asks`, to import little."""

from typing import Any, Final

from activities.store import turn_configs
from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.grants import savable_patterns
from workflows.domain.permissions.reasons import reasons
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.questions import turn_subject
from workflows.domain.views.inbox import InboxEntry, SuspendedSession

_ASKS: Final = Queries("asks")
_SUSPENSIONS: Final = Queries("suspensions")


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


def _entry(row: dict[str, Any], rules: Ruleset) -> InboxEntry:
    fields = {name: row[name] for name in InboxEntry.model_fields if name in row and name != "request"}
    entry = InboxEntry(**fields | {"tool": row["tool"] or turn_subject(row["body"]), "request": row["body"]})
    if not isinstance(entry.request, PermissionRequest):
        return entry
    savable, why = savable_patterns(entry.request, rules), reasons(entry.request, rules)
    return entry.model_copy(update={"savable": savable, "reasons": why})
