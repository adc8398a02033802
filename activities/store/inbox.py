"""The inbox: what waits for a person, read only. `holdfast asks` loads this and no more of the store."""

from datetime import datetime
from typing import Any, Final

from pydantic import ConfigDict, JsonValue, TypeAdapter

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.effects import Plan
from workflows.domain.ids import AskId, ParkId, PartId, SessionId
from workflows.domain.parking import ParkReason
from workflows.domain.permissions.grants import savable
from workflows.domain.permissions.reasons import reasons
from workflows.domain.permissions.replies import AskState
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value

_ASKS: Final = Queries("asks")
_PARKS: Final = Queries("parks")
_SNAPSHOTS: Final = Queries("snapshots")
_RULES: Final[TypeAdapter[Ruleset]] = TypeAdapter(Ruleset, config=ConfigDict(defer_build=True))


class InboxEntry(Value):
    """An ask as a person sees it: with the exact effect, where it comes from, and the rules of its turn.

    `path` are the agents from the one that a person talks to down to the one that asks.
    """

    id: AskId
    session: SessionId
    call: PartId
    title: str
    directory: str
    agent: str
    path: tuple[str, ...]
    tool: str
    arguments: dict[str, JsonValue]
    request: PermissionRequest
    plan: Plan | None
    digest: str
    state: AskState
    asked_at: datetime
    rules: Ruleset = ()

    @property
    def savable(self) -> tuple[str, ...]:
        """The patterns that "always" would save; empty when nothing may be saved."""
        return savable(self.request, self.rules)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is asked about; each completes a sentence that begins with "because"."""
        return reasons(self.request, self.rules)


class Parked(Value):
    """A session that is parked, and why."""

    session: SessionId
    id: ParkId
    reason: ParkReason
    was: str | None
    now: str | None
    title: str


async def asks(
    database: Database, *, ask: AskId | None = None, session: SessionId | None = None, limit: int | None = None
) -> list[InboxEntry]:
    """What waits for an answer, the oldest first: of all sessions, or of one and its subagents; with `ask`, that one
    whatever its state."""
    rows = await database.rows(_ASKS.inbox, ask=ask, session=session, limit=limit)
    rules = await _rules(database, {row["snapshot"] for row in rows})
    return [InboxEntry.model_validate(_entry(row, rules[row["snapshot"]])) for row in rows]


async def ask_ids(database: Database) -> list[AskId]:
    """What waits for an answer, the oldest first."""
    return [row["id"] for row in await database.rows(_ASKS.open_ids)]


async def parked(database: Database, session: SessionId | None = None) -> list[Parked]:
    """The sessions that are parked, the first of them first; a subagent's that waits with its parent's is left out."""
    return [Parked(**row) for row in await database.rows(_PARKS.open, session=session)]


async def _rules(database: Database, snapshots: set[str]) -> dict[str, Ruleset]:
    """The rules of these configurations: many asks are of one, and each is read once."""
    rows = await database.rows(_SNAPSHOTS.rules, ids=sorted(snapshots)) if snapshots else []
    return {row["id"]: _RULES.validate_python(row["rules"]) for row in rows}


def _entry(row: dict[str, Any], rules: Ruleset) -> dict[str, Any]:
    told = {name: row[name] for name in InboxEntry.model_fields if name not in ("request", "rules")}
    return told | {"request": row["body"], "rules": rules}
