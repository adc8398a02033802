"""Notices: what a person who looks elsewhere is told of, each once at most: it is noted as told before it is."""

from datetime import datetime
from typing import Final, Literal

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import AskId, SessionId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("notices")
_MOST: Final = 1000  # of one look


class AskWaits(Value):
    """An ask waits for an answer."""

    type: Literal["ask"] = "ask"
    session: SessionId
    ask: AskId
    title: str
    directory: str
    tool: str
    permission: str
    at: datetime


class TaskEnded(Value):
    """A turn of a person's session has ended; `reason` as in the log."""

    type: Literal["end"] = "end"
    session: SessionId
    turn: TurnId
    title: str
    directory: str
    reason: str
    at: datetime


Notice = AskWaits | TaskEnded


async def due(database: Database) -> list[Notice]:
    """What nobody was told of yet, the oldest first; it counts as told from now on, whatever becomes of the telling."""
    waiting = await database.rows(_QUERIES.asks, most=_MOST)
    asks = [AskWaits(permission=row.pop("body")["permission"], **row) for row in waiting]
    ends = [TaskEnded(**row) for row in await database.rows(_QUERIES.ends, most=_MOST)]
    return sorted((*asks, *ends), key=lambda notice: notice.at)


async def pass_over(database: Database, host: str | None, older: float) -> None:
    """Count what came up in sessions of a host more than so many seconds ago as told: its worker has no command."""
    await database.rows(_QUERIES.pass_over_asks, host=host, older=older)
    await database.rows(_QUERIES.pass_over_ends, host=host, older=older)
