"""What of PostgreSQL's errors is an outage, to be waited out, and what is a mistake of ours."""

import psycopg
import pytest
from psycopg.errors import lookup

from activities.store.database import Database
from activities.store.outages import Moved, ReadOnly, Unprepared, Unreachable, reaching
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

AWAY = ("08000", "08003", "08006", "28000", "28P01", "57P01", "57P02", "57P03", "57P05")
BUSY = ("25P03", "40001", "40P01", "53000", "53100", "53200", "53300", "57014", "58000", "58030", "XX000", "XX001")
OURS = ("22P02", "23502", "23505", "25P02", "42601", "42501", "54000", "P0001")


def raised(error: Exception) -> type[Exception]:
    """What becomes of an error of the driver."""
    with pytest.raises(Exception) as caught, reaching():
        raise error
    return caught.type


@pytest.mark.parametrize("code", AWAY)
def test_a_server_that_goes_or_does_not_let_us_in_is_unreachable(code: str) -> None:
    assert raised(lookup(code)("away")) is Unreachable


@pytest.mark.parametrize("code", BUSY)
def test_what_a_server_cannot_do_just_now_is_unavailable(code: str) -> None:
    assert raised(lookup(code)("later")) is Unavailable


@pytest.mark.parametrize("code", OURS)
def test_a_mistake_of_ours_is_no_outage(code: str) -> None:
    assert raised(lookup(code)("wrong")) is lookup(code)


@pytest.mark.parametrize("kind", [psycopg.OperationalError, psycopg.InterfaceError, psycopg.DatabaseError])
def test_a_connection_that_is_lost_without_a_code_is_unreachable(kind: type[psycopg.Error]) -> None:
    assert raised(kind("the connection is lost")) is Unreachable


def test_a_wrong_use_of_the_driver_is_no_outage() -> None:
    assert raised(psycopg.ProgrammingError("no results to fetch")) is psycopg.ProgrammingError


def test_a_missing_table_is_a_database_that_no_worker_has_prepared() -> None:
    assert raised(psycopg.errors.UndefinedTable("no table")) is Unprepared


async def test_a_demoted_primary_takes_no_writes_and_is_asked_anew(database: Database, session: SessionId) -> None:
    before = await server_process(database)
    with pytest.raises(ReadOnly, match="PostgreSQL is read-only just now.*cannot execute UPDATE"):
        async with database.statements(b"BEGIN READ ONLY") as said:
            said.note(b"UPDATE session SET title = 'changed'")
    assert await server_process(database) != before


async def server_process(database: Database) -> int:
    (row,) = await database.rows(b"SELECT pg_backend_pid() AS pid")
    return int(row["pid"])


async def test_a_session_that_has_moved_on_is_told_from_other_failures_to_serialize(
    database: Database, session: SessionId
) -> None:
    with pytest.raises(Moved):
        await database.rows(b"SELECT hold_session(%(session)s, 99, 99)", session=session)
