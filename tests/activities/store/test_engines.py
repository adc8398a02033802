"""A database's engine: one at a time, by its workers' signs of life."""

import asyncio
from functools import partial

import pytest

from activities.store import engines
from activities.store.database import Database
from activities.store.engines import EngineIdentity
from tests.host_claims import claim_when_free
from workflows.domain.errors import EngineTaken

OURS = EngineIdentity(namespace="one", target="namespace 'default' at 127.0.0.1:7233")
MOVED = EngineIdentity(namespace="one", target="namespace 'default' at temporal:7233")
OTHER = EngineIdentity(namespace="two", target="namespace 'default' at 127.0.0.1:20001")
LONG_AGO = b"UPDATE engine SET seen_at = seen_at - interval '1 min'"


async def test_a_database_belongs_to_one_engine_while_a_worker_of_it_is_alive(database: Database) -> None:
    for mine in (OURS, MOVED, OURS):
        await engines.report_alive(database, mine)
        await engines.check_not_taken(database, mine)
    for refuses in (engines.report_alive, engines.check_not_taken):
        with pytest.raises(EngineTaken, match=r":7233, .*: 0 s ago .* 127\.0\.0\.1:20001 .*twice.* TEMPORAL_ADDRESS"):
            await refuses(database, OTHER)


async def test_a_database_whose_engine_has_gone_can_be_taken(database: Database) -> None:
    await engines.report_alive(database, OURS)
    await database.rows(LONG_AGO)
    await engines.check_not_taken(database, OTHER)
    await claim_when_free(partial(engines.report_alive, database, OTHER))
    with pytest.raises(EngineTaken):
        await engines.report_alive(database, OURS)


async def test_of_many_engines_that_start_together_one_takes_the_database(database: Database) -> None:
    engines_ = [EngineIdentity(namespace=name, target=name) for name in "abcdefgh"]
    answers = await asyncio.gather(*(engines.report_alive(database, each) for each in engines_), return_exceptions=True)
    assert answers.count(None) == 1 and sum(isinstance(answer, EngineTaken) for answer in answers) == 7


async def test_an_unprepared_database_belongs_to_no_engine(database: Database) -> None:
    await engines.check_not_taken(database, OURS)
    await database.rows(b"DROP TABLE engine")
    await engines.check_not_taken(database, OURS)
