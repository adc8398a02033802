"""Sessions that have something to do but do not move, and their repairs."""

from typing import Final

from activities.store.database import Database
from activities.store.journal import Journal
from activities.store.pg_server import query_row
from activities.store.queries import Queries
from workflows.domain.ids import PartId, SessionId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("reconcile")


class DueSession(Value):
    """A session with an open turn that does not wait, or with untaken work and no turn, as of event `seq`.

    `ready`: calls of `step` that wait for no person or subagent. `interrupted`: a stop names the turn, or the session
    has ended. `run`, `refreshes`, `restarts`: repairs since it last moved.
    """

    session: SessionId
    host: str | None
    turn: TurnId | None
    step: int | None
    seq: int
    stuck: str | None
    run: str | None
    refreshes: int
    restarts: int
    interrupted: bool
    ready: tuple[PartId, ...]


class Repairs(Value):
    """Sessions refreshed within a day, how many of them restarted, those that cannot go on now, and those that are
    suspended because their log lacks what they have done."""

    refreshed: int
    restarted: int
    stuck: int
    behind: int


async def due(database: Database, quiet: float) -> list[DueSession]:
    """Sessions that have something to do, no signal to come, and have not moved for `quiet` seconds (longer after each
    restart)."""
    return [DueSession(**row) for row in await database.rows(_QUERIES.due, quiet=quiet)]


def record(journal: Journal, run: str | None, count: int, restarts: int) -> None:
    journal.write(_QUERIES.record, session=journal.session, run=run, count=count, restarts=restarts)


def forget(journal: Journal) -> None:
    """A person decides what comes next."""
    journal.write(_QUERIES.forget, session=journal.session)


async def clear_stuck(database: Database, quiet: float) -> None:
    """Clears those that have moved within `quiet` seconds, or have nothing to do."""
    await database.rows(_QUERIES.clear_stuck, quiet=quiet)


async def lately(url: str) -> Repairs:
    query = """
        SELECT count(*), count(*) FILTER (WHERE restarts > 0),
               (SELECT count(*) FROM holdfast.session WHERE stuck <> ''),
               (SELECT count(*) FROM holdfast.suspension WHERE state = 'open' AND reason = 'behind')
        FROM holdfast.refresh WHERE at > now() - interval '1 day'
    """
    refreshed, restarted, stuck, behind = await query_row(url, query)
    return Repairs(refreshed=refreshed, restarted=restarted, stuck=stuck, behind=behind)
