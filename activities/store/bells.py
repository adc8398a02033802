"""Bells: what was accepted and not yet rung, or rung and not yet taken up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from enum import StrEnum
from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import MessageId, SessionId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("bells")
_SWEEP_LOCK: Final = 0x73776570  # advisory lock: "swep"


class BellKind(StrEnum):
    PROMPT = "prompt"
    ANSWER = "answer"
    STOP = "stop"
    SETTLED = "settled"
    RETRY = "retry"
    RESUME = "resume"


class Bell(Value):
    """A row that a session's workflow has to be told about."""

    kind: BellKind
    id: str
    session: SessionId
    turn: TurnId | None = None


class Waiting(Value):
    """A session that the sweeper looks at: it has work (an open turn, a retry, or an untaken prompt, its oldest), or is
    marked as stuck. `resting`: it waits for a person, or for a subagent, which may do so."""

    session: SessionId
    prompt: MessageId | None
    resting: bool
    working: bool


async def rang(database: Database, bell: Bell) -> None:
    """Note that the engine has acknowledged the signal."""
    query = {
        BellKind.PROMPT: _QUERIES.rang_prompt,
        BellKind.ANSWER: _QUERIES.rang_ask,
        BellKind.STOP: _QUERIES.rang_stop,
        BellKind.SETTLED: _QUERIES.rang_task,
        BellKind.RETRY: _QUERIES.rang_retry,
        BellKind.RESUME: _QUERIES.rang_park,
    }[bell.kind]
    await database.rows(query, id=bell.id)


async def undelivered(database: Database, before: datetime) -> list[Bell]:
    """Bells of rows accepted before this moment that no engine has acknowledged."""
    return [Bell(**row) for row in await database.rows(_QUERIES.undelivered, before=before)]


async def unheard(database: Database, child: SessionId) -> list[Bell]:
    """The bells of a subagent's settled tasks that its parent's engine has not acknowledged."""
    return [Bell(kind=BellKind.SETTLED, **row) for row in await database.rows(_QUERIES.unheard, child=child)]


async def waiting(database: Database) -> list[Waiting]:
    """Sessions that have something to do, whether or not a run works on it."""
    return [Waiting(**row) for row in await database.rows(_QUERIES.waiting)]


@asynccontextmanager
async def sweeping(database: Database) -> AsyncIterator[bool]:
    """Whether this process may sweep now: one at a time."""
    async with database.alone(_SWEEP_LOCK) as mine:
        yield mine
