"""Observing a worker: what cannot be, or is not wanted."""

import asyncio
import logging
import socket

import pytest

from activities.store.database import Database
from tests.ports import neighbours
from worker.observing import Observing
from worker.settings import Settings
from worker.stack.ports import LOOPBACK


async def test_a_port_that_is_taken_keeps_no_worker_from_working(
    settings: Settings, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    port, sdk = neighbours()
    with (
        socket.create_server((LOOPBACK, port)),
        socket.create_server((LOOPBACK, sdk)),
        caplog.at_level(logging.WARNING),
    ):
        observing = Observing(settings.model_copy(update={"metrics_port": port}))
        async with asyncio.timeout(60), Database(postgres_url) as database:
            await observing.run(database)

    assert observing.runtime is None
    assert [f":{each}: choose" in caplog.text for each in (port, sdk)] == [True, True]


async def test_what_is_not_wanted_costs_nothing(settings: Settings, postgres_url: str) -> None:
    observing = Observing(settings)
    async with Database(postgres_url) as database:
        await observing.run(database)
        assert database.told is None
    assert (observing.runtime, observing.interceptors) == (None, [])
    await observing.close()
