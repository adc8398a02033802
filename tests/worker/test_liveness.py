"""Signs of life of a worker."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from activities.store import hosts
from activities.store.database import Database
from worker.background_tasks import run_in_background
from worker.liveness import LivenessReporter
from workflows.domain.errors import Unavailable


async def test_a_sign_is_given_to_the_database_and_to_a_file(postgres_url: str, tmp_path: Path) -> None:
    async with Database(postgres_url) as database:
        await LivenessReporter([partial(hosts.report_alive, database, "alpha", "here")], tmp_path / "alive").report()
        known = [(each.name, each.working) for each in await hosts.list_all(database)]

    assert known == [("alpha", True)] and (tmp_path / "alive").exists()


async def test_a_worker_whose_database_is_away_is_alive(tmp_path: Path) -> None:
    async with Database("postgresql://127.0.0.1:9/none", connect_timeout=0.1) as nowhere:
        with pytest.raises(Unavailable):
            await LivenessReporter([partial(hosts.report_alive, nowhere, "alpha", "here")], tmp_path / "alive").report()

    assert (tmp_path / "alive").exists()


async def test_where_nobody_looks_none_is_given() -> None:
    await LivenessReporter([]).run(asyncio.Event())


async def test_a_host_that_another_machine_has_taken_is_the_end(postgres_url: str) -> None:
    ending = asyncio.Event()
    async with Database(postgres_url) as database:
        await hosts.report_alive(database, "alpha", "there")
        liveness = LivenessReporter([partial(hosts.report_alive, database, "alpha", "here")])
        async with run_in_background(liveness.run(ending)):
            await ending.wait()

    assert ending.is_set() and "HOLDFAST_HOST" in str(liveness.ownership_error)
