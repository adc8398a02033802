"""The wire: a batch is executed in order, up to the first failure."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from activities.store.pg_protocol import PipelinedConnection, Statement
from tests.acceptance.database_proxy import database_proxy

KNOWN = Statement(b"SELECT count(*) AS n FROM pg_prepared_statements", {})


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[PipelinedConnection]:
    async with await PipelinedConnection.connect(postgres_url, autocommit=True) as opened:
        yield opened


def value(n: object) -> Statement:
    return Statement(b"SELECT %(n)s::text AS n, '100%%' AS all, %(n)s::text AS again", {"n": n})


async def test_each_statement_has_its_own_rows_in_order(connection: PipelinedConnection) -> None:
    said = [value("a"), Statement(b"SET lock_timeout = '1s'", {}), value(None), value("a")]
    a, none = {"n": "a", "all": "100%", "again": "a"}, {"n": None, "all": "100%", "again": None}
    assert await connection.exchange(said) == [[a], [], [none], [a]]


async def test_a_statement_is_prepared_once(connection: PipelinedConnection) -> None:
    for _ in range(3):
        ((found,),) = await connection.exchange([KNOWN])
        await connection.exchange([value("a"), value("b"), value(1)])  # another type is another kind
    assert found == {"n": 3}


async def test_nothing_after_a_failure_is_executed_or_counts_as_prepared(connection: PipelinedConnection) -> None:
    later = Statement(b"CREATE TABLE never (n int)", {})
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.exchange([Statement(b"SELECT 1 / 0", {}), later, value("a")])
    assert len(await connection.exchange([later, value("a")])) == 2


async def test_an_invalid_query_raises_its_own_error(connection: PipelinedConnection) -> None:
    with pytest.raises(psycopg.errors.SyntaxError):
        await connection.exchange([Statement(b"SELEKT", {}), value("a")])
    assert len(await connection.exchange([value("a")])) == 1


async def test_the_number_of_prepared_statements_is_limited(connection: PipelinedConnection) -> None:
    for start in range(0, 300, 100):
        kinds = [Statement(b"SELECT %d AS n" % n, {}) for n in range(start, start + 100)]
        assert await connection.exchange(kinds) == [[{"n": n}] for n in range(start, start + 100)]
    ((found,),) = await connection.exchange([KNOWN])
    assert found == {"n": 250}


async def test_large_values_are_sent_and_received_together(connection: PipelinedConnection) -> None:
    large = "x" * 1_000_000
    answers = await connection.exchange([value(large)] * 3)
    assert [len(row["again"]) for (row,) in answers] == [1_000_000] * 3


async def streamed(connection: PipelinedConnection) -> None:
    """Read a query row by row, after which libpq reads the next pipeline's first one so, too."""
    async with connection.cursor() as cursor:
        assert len([row async for row in cursor.stream("SELECT generate_series(1, 3)")]) == 3


async def test_all_rows_of_a_prepared_statement_are_read_after_a_streamed_query(
    connection: PipelinedConnection,
) -> None:
    numbers = Statement(b"SELECT n FROM generate_series(1, %(last)s) AS n", {"last": 3})
    known = await connection.exchange([numbers])
    await streamed(connection)
    assert await connection.exchange([numbers]) == known == [[{"n": 1}, {"n": 2}, {"n": 3}]]


async def test_a_prepared_statement_raises_its_own_error_after_a_streamed_query(
    connection: PipelinedConnection,
) -> None:
    failing = Statement(b"SELECT 1 / (3 - n) AS n FROM generate_series(1, %(last)s) AS n", {"last": 3})
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.exchange([failing])
    assert len(await connection.exchange([Statement(failing.query, {"last": 2})])) == 1
    await streamed(connection)
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.exchange([failing])


async def test_a_server_that_falls_silent_breaks_the_connection(postgres_url: str) -> None:
    async with (
        database_proxy(postgres_url) as between,
        await PipelinedConnection.connect(between.url, autocommit=True) as connection,
    ):
        between.hold_request("never answered")
        with (
            connection.response_timeout(0.2),
            pytest.raises(psycopg.OperationalError, match="has not answered for 0 s"),
        ):
            await connection.exchange([value("never answered")])
        assert connection.broken


async def test_the_limit_applies_to_each_slow_row(connection: PipelinedConnection) -> None:
    slowly = b"SELECT n, repeat('n', 10000), pg_sleep(0.2) FROM generate_series(1, 5) AS n"
    async with connection.cursor() as cursor:
        with connection.response_timeout(0.5):
            assert [n async for n, *_ in cursor.stream(slowly, size=1)] == [1, 2, 3, 4, 5]


async def test_notifications_are_waited_for_without_a_limit_and_none_is_lost(connection: PipelinedConnection) -> None:
    await connection.rows(b"LISTEN here")
    with connection.response_timeout(0.1):
        assert [notice.payload async for notice in connection.notifies(timeout=0.3)] == []
    await connection.exchange([Statement(b"NOTIFY here, 'meanwhile'", {}), value("a")])
    assert [notice.payload async for notice in connection.notifies(timeout=0.3)] == ["meanwhile"]
