"""PostgreSQL's errors: outages, to be waited out, and our own mistakes."""

import psycopg
import pytest
from psycopg.errors import lookup

from activities.store.database import Database
from activities.store.outages import translate_errors
from workflows.domain.errors import ReadOnly, SchemaMissing, Unavailable, Unreachable, VersionConflict
from workflows.domain.ids import SessionId

AWAY = ("08000", "08003", "08006", "28000", "28P01", "57P01", "57P02", "57P03", "57P05")
BUSY = ("25P03", "40001", "40P01", "53000", "53100", "53200", "53300", "57014", "58000", "58030", "XX000", "XX001")
OURS = ("22P02", "23502", "23505", "25P02", "42601", "42501", "54000", "P0001")


def raised(error: Exception) -> type[Exception]:
    """Our error for one of the driver."""
    with pytest.raises(Exception) as caught, translate_errors():
        raise error
    return caught.type


@pytest.mark.parametrize("code", AWAY)
def test_a_server_that_shuts_down_or_refuses_the_login_is_unreachable(code: str) -> None:
    assert raised(lookup(code)("away")) is Unreachable


@pytest.mark.parametrize("code", BUSY)
def test_a_server_that_is_busy_or_out_of_resources_is_unavailable(code: str) -> None:
    assert raised(lookup(code)("later")) is Unavailable


@pytest.mark.parametrize("code", OURS)
def test_a_bug_of_ours_is_no_outage(code: str) -> None:
    assert raised(lookup(code)("wrong")) is lookup(code)


@pytest.mark.parametrize("kind", [psycopg.OperationalError, psycopg.InterfaceError, psycopg.DatabaseError])
def test_a_connection_that_is_lost_without_a_code_is_unreachable(kind: type[psycopg.Error]) -> None:
    assert raised(kind("the connection is lost")) is Unreachable


def test_a_wrong_use_of_the_driver_is_no_outage() -> None:
    assert raised(psycopg.ProgrammingError("no results to fetch")) is psycopg.ProgrammingError


def test_a_missing_table_is_a_database_that_no_worker_has_prepared() -> None:
    assert raised(psycopg.errors.UndefinedTable("no table")) is SchemaMissing


async def test_the_connection_to_a_demoted_primary_is_replaced(database: Database, session: SessionId) -> None:
    before = await server_process(database)
    with pytest.raises(ReadOnly, match="PostgreSQL is read-only at the moment.*cannot execute UPDATE"):
        async with database.statements(b"BEGIN READ ONLY") as batch:
            batch.write(b"UPDATE session SET title = 'changed'")
    assert await server_process(database) != before


async def server_process(database: Database) -> int:
    (row,) = await database.rows(b"SELECT pg_backend_pid() AS pid")
    return int(row["pid"])


async def test_a_session_that_has_moved_on_is_no_other_serialization_failure(
    database: Database, session: SessionId
) -> None:
    with pytest.raises(VersionConflict):
        await database.rows(b"SELECT hold_session(%(session)s, '\\x99', 99)", session=session)
