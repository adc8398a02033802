"""Outages: which of the driver's errors mean that PostgreSQL cannot do it just now, and in what words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from workflows.domain.errors import Unavailable

_MOVED_ON: Final = "has moved on"  # the last words of hold_session and hold_step (migrations/0001_initial.sql)
_NO_SCHEMA: Final = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
)
_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed)  # without a code
# Classes and codes of SQLSTATE (PostgreSQL, appendix A). Any other code is a mistake of ours, and stays one.
_AWAY: Final = ("08", "28", "57P")  # connection lost, nobody let in, shutting down or starting
_BUSY: Final = ("25P03", "40", "53", "57", "58", "XX")  # timed out, deadlock, no resources, cancelled, disk, corruption
_READ_ONLY: Final = "25006"


class Unprepared(Unavailable):
    """The database does not have the tables that this Holdfast needs."""


class Unreachable(Unavailable):
    """PostgreSQL does not answer, or does not let us in; `bare` says it for pages that give the way out themselves."""

    def __init__(self, why: str) -> None:
        super().__init__(f"PostgreSQL cannot be reached (`holdfast doctor` says what to do): {why}")
        self.bare = f"PostgreSQL cannot be reached: {why}"


class ReadOnly(Unavailable):
    """PostgreSQL takes no writes, as a replica does, and a primary that a failover has replaced."""

    def __init__(self, why: str) -> None:
        super().__init__(f"PostgreSQL is read-only just now, as in a failover: try again in a while. (It says: {why})")


class Moved(Exception):
    """A row is not as it was when it was last seen: what was decided on by then has to be decided anew."""


@contextmanager
def reaching() -> Iterator[None]:
    """Turn the driver's errors into ours: Moved, Unprepared, and Unavailable for whatever may be over in a while."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, PoolClosed) as error:
        if (ours := _ours(error)) is None:
            raise
        raise ours from error


def _ours(error: Exception) -> Exception | None:
    """What an error of the driver or the pool is called; None for a mistake of ours."""
    code = error.sqlstate if isinstance(error, psycopg.Error) else None
    why = _words(error)
    if isinstance(error, psycopg.errors.SerializationFailure) and why.endswith(_MOVED_ON):
        return Moved()
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return Unavailable("Another process has held this session's lock for 10 s; try again.")
    if isinstance(error, _NO_SCHEMA):
        return Unprepared(
            "The database does not have the tables that this Holdfast needs. A worker of the same release makes them "
            f"when it starts; `holdfast doctor` compares the two. (PostgreSQL: {why})"
        )
    if code is None:
        return Unreachable(why) if isinstance(error, _LOST) or type(error) is psycopg.DatabaseError else None
    return _outage(code, why)


def _outage(code: str, why: str) -> Unavailable | None:
    if code == _READ_ONLY:
        return ReadOnly(why)
    if code.startswith(_AWAY):
        return Unreachable(why)
    return Unavailable(f"PostgreSQL could not do it just now: {why}") if code.startswith(_BUSY) else None


def _words(error: Exception) -> str:
    """What the server says, in one line and without its hints; else what the driver says."""
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((said or str(error)).split()) or type(error).__name__
