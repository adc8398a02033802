"""The inbox: what waits for a person, read only. `holdfast asks` loads this and no more of the store."""

from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.effects import Plan
from workflows.domain.ids import AskId, ParkId, PartId, SessionId
from workflows.domain.parking import ParkReason
from workflows.domain.permissions.grants import savable
from workflows.domain.permissions.replies import AskState
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value

_ASKS: Final = Queries("asks")
_PARKS: Final = Queries("parks")


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


class Parked(Value):
    """A session that is parked, and why."""

    session: SessionId
    id: ParkId
    reason: ParkReason
    was: str | None
    now: str | None
    title: str


async def asks(database: Database, *, ask: AskId | None = None, session: SessionId | None = None) -> list[InboxEntry]:
    """What waits for an answer, the oldest first: of all sessions, or of one and its subagents; with `ask`, that one
    whatever its state."""
    rows = await database.rows(_ASKS.inbox, ask=ask, session=session)
    return [InboxEntry.model_validate(_entry(row)) for row in rows]


async def parked(database: Database, session: SessionId | None = None) -> list[Parked]:
    """The sessions that are parked, the first of them first; a subagent's that waits with its parent's is left out."""
    return [Parked(**row) for row in await database.rows(_PARKS.open, session=session)]


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in InboxEntry.model_fields if name != "request"} | {"request": row["body"]}
