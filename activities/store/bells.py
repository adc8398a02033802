"""Bells: what was accepted and not yet rung, or rung and not yet taken up."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from enum import StrEnum
from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import MessageId, SessionId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("bells")
_SWEEP_LOCK: Final = 0x73776570  # advisory lock: "swep"
_SILENCE: Final = 10  # seconds after which who sweeps is taken for gone
_RINGER: Final = "holdfast_ringer_"  # so begin the names of the connections of workers that ring for doors
_PATIENCE: Final = 0.4  # seconds for a worker to ring; reaching the engine takes a command as long
_SIGN: Final = 10.0  # seconds between two looks whether a connection that listens still holds
_LOOK: Final = 0.01  # seconds between two looks whether it has


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
    marked as stuck, and for which reason. `resting`: it waits for a person, or for a subagent, which may do so."""

    session: SessionId
    prompt: MessageId | None
    resting: bool
    working: bool
    stuck: str | None = None


async def rang(database: Database, bell: Bell) -> None:
    """Note that the engine has acknowledged the signal."""
    query = {
        BellKind.PROMPT: _QUERIES.rang_work,
        BellKind.ANSWER: _QUERIES.rang_ask,
        BellKind.STOP: _QUERIES.rang_stop,
        BellKind.SETTLED: _QUERIES.rang_task,
        BellKind.RETRY: _QUERIES.rang_work,
        BellKind.RESUME: _QUERIES.rang_park,
    }[bell.kind]
    await database.rows(query, id=bell.id)


async def pass_on(database: Database, bell: Bell) -> bool:
    """Have one of the workers that listen ring; whether the engine has acknowledged in time. Raises Unavailable."""
    if not await database.rows(_QUERIES.pass_on, ringer=_RINGER, bell=bell.model_dump_json()):
        return False
    until = asyncio.get_running_loop().time() + _PATIENCE
    while not await database.rows(_QUERIES.delivered, id=bell.id):
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(_LOOK)
    return True


async def passed_on(database: Database) -> AsyncGenerator[str, None]:
    """The bells that doors pass on to us, as JSON, as long as the connection holds. Raises Unavailable."""
    name = f"{_RINGER}{uuid.uuid4().hex}"
    async with database.listen(name, name=name) as connection:
        while True:
            async with aclosing(connection.notifies(timeout=_SIGN)) as notices:
                async for notice in notices:
                    yield notice.payload
            await connection.rows(b"SELECT")  # whether anybody is there who would tell us


async def undelivered(database: Database, before: datetime) -> list[Bell]:
    """Bells of rows accepted before this moment that no engine has acknowledged."""
    return [Bell(**row) for row in await database.rows(_QUERIES.undelivered, before=before)]


async def unheard(database: Database, child: SessionId) -> list[Bell]:
    """The bells of a subagent's settled tasks that its parent's engine has not acknowledged."""
    return [Bell(kind=BellKind.SETTLED, **row) for row in await database.rows(_QUERIES.unheard, child=child)]


async def waiting(database: Database, quiet: float) -> list[Waiting]:
    """Sessions that have something to do, and have not moved for so many seconds: whether or not a run works on it."""
    return [Waiting(**row) for row in await database.rows(_QUERIES.waiting, quiet=quiet)]


@asynccontextmanager
async def sweeping(database: Database) -> AsyncIterator[bool]:
    """Whether this process may sweep now: one at a time, but for one that was frozen meanwhile."""
    async with database.advisory_lock(_SWEEP_LOCK, idle_timeout=_SILENCE) as mine:
        yield mine
