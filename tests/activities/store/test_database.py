"""The pool: errors of an unreachable database, and JSON in and out."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE

import psycopg
import pytest

from activities.store.database import Database, dumps
from activities.store.outages import translate_errors
from tests.polling import WAIT_TIMEOUT
from workflows.domain.errors import SchemaMissing, Unavailable
from workflows.domain.ids import SessionId


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="PostgreSQL cannot be reached .`holdfast doctor` says what to do.: .*refuse"):
        async with Database("postgresql://nobody@127.0.0.1:9/none").listen("holdfast"):
            raise AssertionError("nobody listens there")


async def test_a_closed_pool_is_unavailable(postgres_url: str) -> None:
    async with Database(postgres_url) as database:
        pass
    with pytest.raises(Unavailable):
        async with database.transaction():
            raise AssertionError("the pool is closed")


async def test_a_connection_that_is_cut_in_a_transaction_is_unavailable(database: Database) -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        async with database.transaction() as connection:
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")


async def test_a_lock_held_by_another_process_is_reported(database: Database, session: SessionId) -> None:
    query = b"SELECT FROM session FOR UPDATE"
    async with database.transaction() as holder:
        await holder.execute(query)
        with pytest.raises(Unavailable, match="held this session's lock"):
            async with database.transaction() as other:
                await other.execute("SET LOCAL lock_timeout = '20ms'")
                await other.execute(query)


async def test_a_transaction_that_fails_leaves_nothing(database: Database, session: SessionId) -> None:
    with pytest.raises(RuntimeError, match="half way"):
        async with database.transaction() as connection:
            await connection.execute("UPDATE session SET title = 'changed'")
            raise RuntimeError("half way")
    async with database.transaction() as connection:
        row = await (await connection.execute("SELECT title FROM session")).fetchone()
    assert row == ("A session",)


def test_a_bug_of_ours_is_not_translated() -> None:
    with pytest.raises(psycopg.errors.NotNullViolation), translate_errors():
        raise psycopg.errors.NotNullViolation


async def test_an_unprepared_database_is_reported(postgres_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
        await connection.execute("DROP SCHEMA holdfast CASCADE")
    async with Database(postgres_url) as database:
        with pytest.raises(SchemaMissing, match=r'worker .* makes them.*relation "session" does not exist'):
            await database.rows(b"SELECT FROM session")


def test_json_is_ascii_so_that_any_text_can_be_stored() -> None:
    assert dumps({"text": "a\x00b \ud800 ü"}) == r'{"text":"a\u0000b \ud800 \u00fc"}'


CUT = b"""SELECT pg_terminate_backend(pid) AS cut FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND objid = %(key)s AND d.datname = current_database()"""
HOLDER = """
import asyncio, sys
from activities.store.database import Database

async def hold():
    database = Database(sys.argv[1])
    async with database.advisory_lock(7, idle_timeout=3) as given_up, database.advisory_lock(9) as kept:
        print(given_up is not None, kept is not None, flush=True)
        await asyncio.Event().wait()

asyncio.run(hold())
"""


async def test_a_frozen_process_keeps_a_lock_only_without_an_idle_timeout(postgres_url: str) -> None:
    database = Database(postgres_url)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, postgres_url, stdout=PIPE)
    try:
        assert process.stdout is not None and await process.stdout.readline() == b"True True\n"
        async with database.advisory_lock(8, idle_timeout=3) as ours, database.advisory_lock(7) as before:
            process.send_signal(signal.SIGSTOP)
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not await taken(database, 7):
                    await asyncio.sleep(0.5)
            assert ours is not None and before is None
            assert not await taken(database, 8) and not await taken(database, 9)
    finally:
        process.kill()
        await process.wait()


async def taken(database: Database, key: int) -> bool:
    async with database.advisory_lock(key) as mine:
        return mine is not None


async def test_a_lock_is_free_again_at_the_end_of_the_block(database: Database) -> None:
    assert [await taken(database, 10) for _ in range(100)] == [True] * 100


async def test_a_lock_whose_connection_is_lost_does_not_fail_its_work(database: Database) -> None:
    async with database.advisory_lock(10):
        (cut,) = await database.rows(CUT, key=10)
        assert cut["cut"]
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not await taken(database, 10):
            await asyncio.sleep(0.01)
