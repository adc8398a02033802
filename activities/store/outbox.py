"""The outbox: signals not yet acknowledged by Temporal, each written with its row."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.value import Value
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("outbox")
_SENDER: Final = "holdfast_sender_"  # start of the connection names of workers that send for commands
_SEND_TIMEOUT: Final = 0.4  # seconds for a worker to send; a command needs as long to reach Temporal
_POLL_INTERVAL: Final = 0.01  # seconds between two checks whether it has sent
_CONNECTION_CHECK: Final = 10.0  # seconds between two checks of a listening connection


class PendingSignal(Value):
    """A row of the outbox."""

    id: int
    session: SessionId
    kind: WakeKind
    subject: str
    turn: TurnId | None = None


async def pending(database: Database, session: SessionId) -> list[PendingSignal]:
    """The session's signals in order; those whose work is taken or over are dropped."""
    return [PendingSignal(**row) for row in await database.rows(_QUERIES.pending, session=session)]


async def is_empty(database: Database, session: SessionId) -> bool:
    return not await database.rows(_QUERIES.any, session=session)


async def delete(database: Database, signal: PendingSignal) -> None:
    await database.rows(_QUERIES.delete, id=signal.id)


async def overdue(database: Database) -> list[SessionId]:
    """Sessions with signals that are older than a signal takes, the oldest first."""
    return [row["session"] for row in await database.rows(_QUERIES.overdue)]


async def callers(database: Database, child: SessionId) -> list[SessionId]:
    """The sessions with signals about settled tasks of this subagent."""
    return [row["session"] for row in await database.rows(_QUERIES.callers, child=child)]


async def pass_on(database: Database, session: SessionId) -> bool:
    """Have one of the listening workers, if any, send the session's signals; whether none is left in time."""
    listening = await database.rows(_QUERIES.pass_on, sender=_SENDER, session=session)
    until = asyncio.get_running_loop().time() + (_SEND_TIMEOUT if listening else 0)
    while not await is_empty(database, session):
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(_POLL_INTERVAL)
    return True


async def passed_on(database: Database) -> AsyncGenerator[SessionId, None]:
    """The sessions that commands pass on to us, as long as the connection holds."""
    name = f"{_SENDER}{uuid.uuid4().hex}"
    async with database.listen(name, name=name) as connection:
        while True:
            async with aclosing(connection.notifies(timeout=_CONNECTION_CHECK)) as notices:
                async for notice in notices:
                    yield SessionId(notice.payload)
            await connection.rows(b"SELECT")  # fails if the connection is broken
