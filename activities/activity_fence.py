"""The fence of the activity that runs."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from workflows.domain.errors import DatabaseBehind, StaleFence, UnknownEpoch
from workflows.domain.events.calls import WriteRefused
from workflows.domain.fence import Fence
from workflows.domain.wire import Request

_BITS: Final = 48  # the log holds it as a JSON number
_EXECUTION: Final[ContextVar[int]] = ContextVar("execution")


def fence_of(request: Request) -> Fence:
    """The first call draws the execution's number: make it in the activity's own task."""
    execution = _EXECUTION.get(0)
    if not execution:
        execution = 1 + secrets.randbits(_BITS)
        _EXECUTION.set(execution)
    return Fence(request.epoch, request.sequence, activity.info().attempt, execution)


@asynccontextmanager
async def log_refused_writes(database: Database, request: Request, target: str) -> AsyncIterator[None]:
    """Log that a stale attempt was refused, which no retry mends. A forged epoch may come any number of times."""
    try:
        yield
    except (UnknownEpoch, DatabaseBehind):
        raise
    except StaleFence as stale:
        async with session_journal(database, request.session, WORKER) as journal:
            await journal.locked()
            journal.record(WriteRefused(target=target, fence=fence_of(request)))
        raise ApplicationError(str(stale), type="StaleFence", non_retryable=True) from stale
