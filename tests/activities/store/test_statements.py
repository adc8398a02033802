"""Statements: batched where possible, in their order."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from activities.store.database import Database
from activities.store.pg_protocol import Rows
from activities.store.statements import Statements
from bench.counting_proxy import counting_proxy
from tests.activities.conftest import Arm
from workflows.domain.errors import Unavailable

ONE, TWO = b"SELECT 1 AS n", b"SELECT 2 AS n"


async def test_concurrent_queries_share_a_round_trip_and_writes_go_with_the_commit(
    postgres_url: str, tmp_path: Path
) -> None:
    async with counting_proxy(postgres_url, tmp_path) as (url, tally), Database(url) as database:
        await database.rows(ONE)  # connects
        async with database.statements() as batch:
            alone, nested = await asyncio.gather(batch.rows(ONE), beside(batch))
            batch.write(b"SET LOCAL lock_timeout = '1s'")
            batch.write(b"SET LOCAL lock_timeout = '2s'")

    assert (alone, nested) == ([{"n": 1}], [[{"n": 1}], [{"n": 2}]])
    transaction = tally.transactions[-1]
    assert (len(transaction.statements), transaction.round_trips) == (7, 2)


async def beside(batch: Statements) -> list[Rows]:
    return list(await asyncio.gather(batch.rows(ONE), batch.rows(TWO)))


async def test_a_lone_query_is_one_round_trip(postgres_url: str, tmp_path: Path) -> None:
    async with counting_proxy(postgres_url, tmp_path) as (url, tally), Database(url) as database:
        for _ in range(3):
            await database.rows(ONE)
    assert [(each.statements, each.round_trips) for each in tally.transactions[-2:]] == [(["SELECT 1 AS n"], 1)] * 2


async def test_a_query_sees_the_writes_before_it(database: Database) -> None:
    async with database.statements() as batch:
        batch.write(b"CREATE TEMPORARY TABLE seen (n int)")
        batch.write(b"INSERT INTO seen VALUES (%(n)s)", n=7)
        assert await batch.rows(b"SELECT n FROM seen") == [{"n": 7}]


async def test_a_failed_write_is_raised_by_the_commit_at_the_latest(database: Database) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with database.statements() as batch:
            batch.write(b"SELECT 1 / 0")


async def test_a_block_that_fails_is_rolled_back(database: Database) -> None:
    with pytest.raises(LookupError):
        async with database.statements() as batch:
            batch.write(b"CREATE TABLE never_kept (n int)")
            await batch.rows(ONE)
            raise LookupError
    assert await database.rows(b"SELECT to_regclass('never_kept')::text AS name") == [{"name": None}]


async def test_one_failure_fails_all_statements_of_its_exchange(database: Database) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with database.statements() as batch:
            await asyncio.gather(batch.rows(b"SELECT 1 / 0"), batch.rows(ONE))


async def test_statements_after_the_transaction_are_refused(database: Database) -> None:
    async with database.statements() as batch:
        await batch.rows(ONE)
    with pytest.raises(Unavailable, match="over"):
        await batch.rows(ONE)


async def test_a_cancelled_query_leaves_the_connection_usable(postgres_url: str) -> None:
    async with Database(postgres_url, size=1) as database:
        reading = asyncio.create_task(slow(database))
        while not await asleep(postgres_url):
            pass
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await database.rows(ONE) == [{"n": 1}]


async def slow(database: Database) -> None:
    async with database.statements() as batch:
        await batch.rows(b"SELECT pg_sleep(60)")


async def asleep(url: str) -> bool:
    async with Database(url) as database:
        return bool(await database.rows(b"SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))


async def test_the_server_ends_an_idle_transaction(database: Database) -> None:
    for _ in range(5):  # whether psycopg's last word comes before the server's answer is a matter of chance
        with pytest.raises(Unavailable):
            async with database.statements() as batch:
                batch.write(b"SET LOCAL idle_in_transaction_session_timeout = '50ms'")
                (row,) = await batch.rows(b"SELECT pg_backend_pid() AS pid")
                while await database.rows(b"SELECT pid FROM pg_stat_activity WHERE pid = %(pid)s", pid=row["pid"]):
                    pass
                await batch.rows(ONE)


async def test_a_statement_after_the_commit_is_refused(database: Database) -> None:
    async with database.statements() as batch:
        await batch.rows(ONE)
    with pytest.raises(Unavailable, match="over"):
        batch.write(b"SELECT 2")


LOST = [
    pytest.param("drop", 1, [], id="begin dropped"),
    pytest.param("drop", 2, [], id="write dropped"),
    pytest.param("ambiguous", 2, [], id="write ambiguous"),
    pytest.param("drop", 3, [], id="commit dropped"),
    pytest.param("ambiguous", 3, [{"n": 7}], id="commit ambiguous"),
]


@pytest.mark.parametrize(("form", "n", "kept"), LOST)
async def test_a_connection_that_is_cut_at_a_statement_is_an_unreachable_database(
    database: Database, arm: Arm, form: str, n: int, kept: Rows
) -> None:
    await database.rows(b"CREATE TABLE kept (n int)")
    arm(f"external.sql={form}@{n}")
    with pytest.raises(Unavailable, match="PostgreSQL cannot be reached"):
        async with database.statements() as batch:
            batch.write(b"INSERT INTO kept VALUES (7)")
    assert await database.rows(b"SELECT n FROM kept") == kept


@pytest.mark.parametrize(("form", "kept"), [("drop", []), ("ambiguous", [{"n": 7}])])
async def test_a_connection_that_is_cut_at_a_lone_query_is_an_unreachable_database(
    database: Database, arm: Arm, form: str, kept: Rows
) -> None:
    await database.rows(b"CREATE TABLE kept (n int)")
    arm(f"external.sql={form}@1")
    with pytest.raises(Unavailable, match="PostgreSQL cannot be reached"):
        await database.rows(b"INSERT INTO kept VALUES (7)")
    assert await database.rows(b"SELECT n FROM kept") == kept
