"""Notifications for the person's own command; sent at most once, as each is marked before."""

from datetime import datetime
from typing import Any, Final, Literal

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.budgets import BudgetLimits, Scope
from workflows.domain.ids import AskId, SessionId, TurnId
from workflows.domain.questions import PERMISSION, turn_subject
from workflows.domain.value import Value

_QUERIES: Final = Queries("pending_notifications")
_BATCH: Final = 1000  # rows of one query


class AskNotification(Value):
    """An ask waits for an answer; `name`: its short one."""

    type: Literal["ask"] = "ask"
    session: SessionId
    ask: AskId
    name: str
    title: str
    directory: str
    tool: str
    permissions: tuple[str, ...]
    at: datetime


class TurnEndNotification(Value):
    """A turn of a person's session has ended; `reason` as in the log."""

    type: Literal["end"] = "end"
    session: SessionId
    turn: TurnId
    title: str
    directory: str
    reason: str
    at: datetime


class BudgetNotification(Value):
    """Most of a limit is used, of a session or of the turn or day that it works in."""

    type: Literal["budget"] = "budget"
    scope: Scope
    session: SessionId
    title: str
    directory: str
    limits: BudgetLimits
    at: datetime


PendingNotification = BudgetNotification | AskNotification | TurnEndNotification


async def take_due(database: Database) -> list[PendingNotification]:
    """The notifications that are due, the oldest first; marks them as sent."""
    waiting = await database.rows(_QUERIES.take_asks, limit=_BATCH)
    asks = [_ask(row.pop("body"), row.pop("tool"), row) for row in waiting]
    ends = [TurnEndNotification(**row) for row in await database.rows(_QUERIES.take_turn_ends, limit=_BATCH)]
    taken = await database.rows(_QUERIES.take_budgets, limit=_BATCH)
    spent = [BudgetNotification(limits=row.pop("warned")[-1], **row) for row in taken]
    return sorted((*asks, *ends, *spent), key=lambda notice: notice.at)


async def skip_older(database: Database, host: str | None, age: float) -> None:
    """Mark those older than `age` seconds on a host as sent: its worker has no command."""
    await database.rows(_QUERIES.skip_older_asks, host=host, age=age)
    await database.rows(_QUERIES.skip_older_turn_ends, host=host, age=age)
    await database.rows(_QUERIES.skip_older_budgets, host=host, age=age)


def _ask(body: dict[str, Any], tool: str | None, row: dict[str, Any]) -> AskNotification:
    permissions = tuple(each["permission"] for each in body.get("requests", ())) or (PERMISSION,)
    return AskNotification(permissions=permissions, tool=tool or turn_subject(body), **row)
