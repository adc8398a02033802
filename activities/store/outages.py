"""The driver's errors for what PostgreSQL cannot do now, in words for people."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from workflows.domain.errors import ReadOnly, SchemaMissing, Unavailable, Unreachable, VersionConflict

_MOVED_ON: Final = "has moved on"  # ends the messages of hold_session and hold_generation (0001_initial.sql)
_NO_SCHEMA: Final = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedFunction)
_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed)  # without a code
# Classes and codes of SQLSTATE (PostgreSQL, appendix A). Any other code is a bug of ours and stays.
_UNREACHABLE_CODES: Final = ("08", "28", "57P")  # connection lost, login refused, shutting down or starting
# Timed out, deadlock, no resources, cancelled, disk, corruption.
_BUSY_CODES: Final = ("25P03", "40", "53", "57", "58", "XX")
_READ_ONLY: Final = "25006"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn the driver's errors into ours: VersionConflict, SchemaMissing, and Unavailable for what may pass."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, PoolClosed) as error:
        if (ours := _translate(error)) is None:
            raise
        raise ours from error


def _translate(error: Exception) -> Exception | None:
    """Our error for the driver's; None for a bug of ours."""
    code = error.sqlstate if isinstance(error, psycopg.Error) else None
    why = _driver_message(error)
    if isinstance(error, psycopg.errors.SerializationFailure) and why.endswith(_MOVED_ON):
        return VersionConflict()
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return Unavailable("Another process has held this session's lock for 10 s; try again.")
    if isinstance(error, _NO_SCHEMA):
        return SchemaMissing(why)
    if code is None:
        return Unreachable(why) if isinstance(error, _LOST) or type(error) is psycopg.DatabaseError else None
    return _outage(code, why)


def _outage(code: str, why: str) -> Unavailable | None:
    if code == _READ_ONLY:
        return ReadOnly(why)
    if code.startswith(_UNREACHABLE_CODES):
        return Unreachable(why)
    return Unavailable(f"PostgreSQL failed to do it: {why}") if code.startswith(_BUSY_CODES) else None


def _driver_message(error: Exception) -> str:
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((primary or str(error)).split()) or type(error).__name__
