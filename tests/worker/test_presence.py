"""Signs of life of a worker."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from activities.store import hosts
from activities.store.database import Database
from worker.presence import Presence
from workflows.domain.errors import Unavailable


async def test_a_sign_is_given_to_the_database_and_to_a_file(postgres_url: str, tmp_path: Path) -> None:
    async with Database(postgres_url) as database:
        await Presence([partial(hosts.seen, database, "alpha", "here")], tmp_path / "alive").show()
        known = [(each.name, each.working) for each in await hosts.listed(database)]

    assert known == [("alpha", True)] and (tmp_path / "alive").exists()


async def test_a_worker_whose_database_is_away_is_alive(tmp_path: Path) -> None:
    async with Database("postgresql://127.0.0.1:9/none", patience=0.1) as nowhere:
        with pytest.raises(Unavailable):
            await Presence([partial(hosts.seen, nowhere, "alpha", "here")], tmp_path / "alive").show()

    assert (tmp_path / "alive").exists()


async def test_where_nobody_looks_none_is_given() -> None:
    await Presence([]).run(asyncio.Event())


async def test_a_host_that_another_machine_has_taken_is_the_end(postgres_url: str) -> None:
    ending = asyncio.Event()
    async with Database(postgres_url) as database:
        await hosts.seen(database, "alpha", "there")
        presence = Presence([partial(hosts.seen, database, "alpha", "here")])
        await presence.run(ending)

    assert ending.is_set() and "HOLDFAST_HOST" in str(presence.taken)
