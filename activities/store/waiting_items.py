"""What waits for a person; apart from `asks`, to import little."""

from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from activities.store import turn_configs
from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.call_display import CallDisplay
from workflows.domain.effects import Plan
from workflows.domain.ids import AskId, PartId, SessionId, SuspensionId
from workflows.domain.permissions.grants import savable_patterns
from workflows.domain.permissions.reasons import reasons
from workflows.domain.permissions.replies import AskState
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.questions import AskBody, AskKind, turn_subject
from workflows.domain.suspension import SuspendCause
from workflows.domain.value import Value

_ASKS: Final = Queries("asks")
_SUSPENSIONS: Final = Queries("suspensions")


class InboxRow(Value):
    """An ask as a person sees it, with the rules of its turn. `path`: the agents from the top session's down to the
    asking one. `name`: its short one. `builds_on`: the open asks of the edits that this one comes after.
    `also_waiting`: the titles of other sessions that wait at the same limit."""

    id: AskId
    name: str
    session: SessionId
    call: PartId | None
    title: str
    directory: str
    agent: str
    path: tuple[str, ...]
    tool: str
    arguments: dict[str, JsonValue]
    display: CallDisplay = CallDisplay()
    kind: AskKind
    request: AskBody
    plan: Plan | None
    digest: str
    state: AskState
    asked_at: datetime
    builds_on: tuple[str, ...] = ()
    also_waiting: tuple[str, ...] = ()
    rules: Ruleset = ()

    @property
    def savable(self) -> tuple[str, ...]:
        """What "always" would save; empty when nothing may be saved."""
        return savable_patterns(self.request, self.rules) if isinstance(self.request, PermissionRequest) else ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the agent asks; each completes "because …"."""
        return reasons(self.request, self.rules) if isinstance(self.request, PermissionRequest) else ()


class SuspendedRow(SuspendCause):
    """A suspended session, and why."""

    session: SessionId
    id: SuspensionId
    title: str


async def pending_asks(
    database: Database, *, ask: AskId | None = None, session: SessionId | None = None, limit: int | None = None
) -> list[InboxRow]:
    """The open asks of all sessions, or of one and those below, the oldest first; or one in any state, by its id or
    name (`ask`)."""
    rows = await database.rows(_ASKS.inbox, ask=ask, session=session, limit=limit)
    rules = await turn_configs.rules(database, {row["turn_config"] for row in rows})
    return [InboxRow.model_validate(_entry(row, rules[row["turn_config"]])) for row in rows]


async def pending_ask_ids(database: Database) -> list[AskId]:
    """The ids of open asks, the oldest first."""
    return [row["id"] for row in await database.rows(_ASKS.open_ids)]


async def suspended_sessions(database: Database, session: SessionId | None = None) -> list[SuspendedRow]:
    """Suspended sessions in the order of suspension, without those below a suspended one."""
    return [SuspendedRow(**row) for row in await database.rows(_SUSPENSIONS.open, session=session)]


def _entry(row: dict[str, Any], rules: Ruleset) -> dict[str, Any]:
    fields = {name: row[name] for name in InboxRow.model_fields if name not in ("request", "rules")}
    return fields | {"tool": row["tool"] or turn_subject(row["body"]), "request": row["body"], "rules": rules}
