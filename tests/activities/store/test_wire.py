"""The wire: what is said in one go is carried out in order, up to the first failure."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from activities.store.wire import Connection, Statement
from tests.acceptance.crossing import crossing

KNOWN = Statement(b"SELECT count(*) AS n FROM pg_prepared_statements", {})


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Connection]:
    async with await Connection.connect(postgres_url, autocommit=True) as opened:
        yield opened


def value(n: object) -> Statement:
    return Statement(b"SELECT %(n)s::text AS n, '100%%' AS all, %(n)s::text AS again", {"n": n})


async def test_each_statement_has_its_own_rows_in_the_order_of_saying(connection: Connection) -> None:
    said = [value("a"), Statement(b"SET lock_timeout = '1s'", {}), value(None), value("a")]
    a, none = {"n": "a", "all": "100%", "again": "a"}, {"n": None, "all": "100%", "again": None}
    assert await connection.exchange(said) == [[a], [], [none], [a]]


async def test_a_kind_of_statement_is_prepared_once(connection: Connection) -> None:
    for _ in range(3):
        ((found,),) = await connection.exchange([KNOWN])
        await connection.exchange([value("a"), value("b"), value(1)])  # another type is another kind
    assert found == {"n": 3}


async def test_nothing_behind_a_failure_is_carried_out_or_taken_for_prepared(connection: Connection) -> None:
    later = Statement(b"CREATE TABLE never (n int)", {})
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.exchange([Statement(b"SELECT 1 / 0", {}), later, value("a")])
    assert len(await connection.exchange([later, value("a")])) == 2


async def test_a_query_that_is_none_fails_as_itself(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.SyntaxError):
        await connection.exchange([Statement(b"SELEKT", {}), value("a")])
    assert len(await connection.exchange([value("a")])) == 1


async def test_endlessly_many_kinds_do_not_fill_the_server(connection: Connection) -> None:
    for start in range(0, 300, 100):
        kinds = [Statement(b"SELECT %d AS n" % n, {}) for n in range(start, start + 100)]
        assert await connection.exchange(kinds) == [[{"n": n}] for n in range(start, start + 100)]
    ((found,),) = await connection.exchange([KNOWN])
    assert found == {"n": 250}


async def test_large_values_go_both_ways_at_once(connection: Connection) -> None:
    large = "x" * 1_000_000
    answers = await connection.exchange([value(large)] * 3)
    assert [len(row["again"]) for (row,) in answers] == [1_000_000] * 3


async def streamed(connection: Connection) -> None:
    """Read a query row by row, after which libpq reads the next pipeline's first one so, too."""
    async with connection.cursor() as cursor:
        assert len([row async for row in cursor.stream("SELECT generate_series(1, 3)")]) == 3


async def test_all_rows_of_a_known_statement_are_read_behind_one_that_was_streamed(connection: Connection) -> None:
    numbers = Statement(b"SELECT n FROM generate_series(1, %(last)s) AS n", {"last": 3})
    known = await connection.exchange([numbers])
    await streamed(connection)
    assert await connection.exchange([numbers]) == known == [[{"n": 1}, {"n": 2}, {"n": 3}]]


async def test_a_known_statement_that_fails_behind_one_that_was_streamed_fails_as_itself(
    connection: Connection,
) -> None:
    failing = Statement(b"SELECT 1 / (3 - n) AS n FROM generate_series(1, %(last)s) AS n", {"last": 3})
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.exchange([failing])
    assert len(await connection.exchange([Statement(failing.query, {"last": 2})])) == 1
    await streamed(connection)
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.exchange([failing])


async def test_a_server_that_falls_silent_breaks_the_connection(postgres_url: str) -> None:
    async with crossing(postgres_url) as between, await Connection.connect(between.url, autocommit=True) as connection:
        between.hold_request("never answered")
        with connection.limited(0.2), pytest.raises(psycopg.OperationalError, match="has not answered for 0 s"):
            await connection.exchange([value("never answered")])
        assert connection.broken


async def test_rows_that_come_slowly_are_waited_for_one_by_one(connection: Connection) -> None:
    slowly = b"SELECT n, repeat('n', 10000), pg_sleep(0.2) FROM generate_series(1, 5) AS n"
    async with connection.cursor() as cursor:
        with connection.limited(0.5):
            assert [n async for n, *_ in cursor.stream(slowly, size=1)] == [1, 2, 3, 4, 5]


async def test_notifications_are_waited_for_without_a_limit_and_none_is_lost(connection: Connection) -> None:
    await connection.rows(b"LISTEN here")
    with connection.limited(0.1):
        assert [notice.payload async for notice in connection.notifies(timeout=0.3)] == []
    await connection.exchange([Statement(b"NOTIFY here, 'meanwhile'", {}), value("a")])
    assert [notice.payload async for notice in connection.notifies(timeout=0.3)] == ["meanwhile"]
