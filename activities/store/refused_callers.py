"""Refused activities, counted by reason and caller."""

from enum import StrEnum
from typing import Final

from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from activities.store.pg_server import query_row
from activities.store.queries import Queries
from workflows.domain.events.sessions import CallerRefused
from workflows.domain.ids import SessionId
from workflows.domain.value import Value

_QUERIES: Final = Queries("refused_callers")
_OTHERS: Final = "others"
_MAX_CALLER_CHARS: Final = 200


class RefusalReason(StrEnum):
    """FOREIGN: another workflow asks; EPOCH: PostgreSQL has not given out its epoch; STALE: it was overtaken."""

    FOREIGN = "foreign"
    EPOCH = "epoch"
    STALE = "stale"


class RefusalTotals(Value):
    """Counts of refusals in all sessions."""

    foreign: int
    epoch: int
    stale: int


async def record(database: Database, session: SessionId, reason: RefusalReason, caller: str, activity: str) -> None:
    """Count a refusal; the first one of a caller that may never call is an event. Nothing without a session."""
    caller = caller[:_MAX_CALLER_CHARS]
    rows = await database.rows(_QUERIES.count, session=session, reason=reason, caller=caller, others=_OTHERS)
    if not rows or rows[0]["times"] > 1 or reason is RefusalReason.STALE:
        return
    async with session_journal(database, session, WORKER) as journal:
        await journal.locked()
        journal.record(CallerRefused(caller=rows[0]["caller"], reason=reason, activity=activity))


async def totals(url: str) -> RefusalTotals:
    query = """
        SELECT coalesce(sum(times) FILTER (WHERE reason = 'foreign'), 0)::int,
               coalesce(sum(times) FILTER (WHERE reason = 'epoch'), 0)::int,
               coalesce(sum(times) FILTER (WHERE reason = 'stale'), 0)::int FROM holdfast.refusal
    """
    foreign, epoch, stale = await query_row(url, query)
    return RefusalTotals(foreign=foreign, epoch=epoch, stale=stale)
