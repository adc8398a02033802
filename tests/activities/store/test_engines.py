"""The engine of a database: one at a time, by the signs of its workers."""

import asyncio
from functools import partial

import pytest

from activities.store import engines
from activities.store.database import Database
from activities.store.engines import Engine, EngineTaken
from tests.hosts import taken

OURS = Engine(namespace="one", target="namespace 'default' at 127.0.0.1:7233")
MOVED = Engine(namespace="one", target="namespace 'default' at temporal:7233")
OTHER = Engine(namespace="two", target="namespace 'default' at 127.0.0.1:20001")
LONG_AGO = b"UPDATE engine SET seen_at = seen_at - interval '1 min'"


async def test_a_database_is_one_engines_as_long_as_a_worker_of_it_is_there(database: Database) -> None:
    for mine in (OURS, MOVED, OURS):
        await engines.seen(database, mine)
        await engines.must_not_be_taken(database, mine)
    for refuses in (engines.seen, engines.must_not_be_taken):
        with pytest.raises(EngineTaken, match=r":7233: 0 s ago .* 127\.0\.0\.1:20001 as well .* TEMPORAL_ADDRESS"):
            await refuses(database, OTHER)


async def test_a_database_whose_engine_has_gone_is_another_ones(database: Database) -> None:
    await engines.seen(database, OURS)
    await database.rows(LONG_AGO)
    await engines.must_not_be_taken(database, OTHER)
    await taken(partial(engines.seen, database, OTHER))
    with pytest.raises(EngineTaken):
        await engines.seen(database, OURS)


async def test_of_many_engines_that_start_at_once_one_has_the_database(database: Database) -> None:
    engines_ = [Engine(namespace=name, target=name) for name in "abcdefgh"]
    answers = await asyncio.gather(*(engines.seen(database, each) for each in engines_), return_exceptions=True)
    assert answers.count(None) == 1 and sum(isinstance(answer, EngineTaken) for answer in answers) == 7


async def test_a_database_that_nobody_has_worked_with_is_anybodys(database: Database) -> None:
    await engines.must_not_be_taken(database, OURS)
    await database.rows(b"DROP TABLE engine")
    await engines.must_not_be_taken(database, OURS)
