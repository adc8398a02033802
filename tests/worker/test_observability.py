"""Unavailable or unwanted observability of a worker."""

import asyncio
import logging
import socket

import pytest

from activities.store.database import Database
from tests.polling import WAIT_TIMEOUT
from tests.port_pairs import adjacent_free_ports
from worker.observability import Observability
from worker.settings import Settings
from worker.stack.ports import LOOPBACK


async def test_a_port_that_is_taken_keeps_no_worker_from_working(
    settings: Settings, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    port, sdk = adjacent_free_ports()
    with (
        socket.create_server((LOOPBACK, port)),
        socket.create_server((LOOPBACK, sdk)),
        caplog.at_level(logging.WARNING),
    ):
        observability = Observability(settings.model_copy(update={"metrics_port": port}))
        async with asyncio.timeout(WAIT_TIMEOUT), Database(postgres_url) as database:
            await observability.run(database)

    assert observability.runtime is None
    assert [f":{each}: choose" in caplog.text for each in (port, sdk)] == [True, True]


async def test_what_is_not_wanted_costs_nothing(settings: Settings, postgres_url: str) -> None:
    observability = Observability(settings)
    async with Database(postgres_url) as database:
        await observability.run(database)
        assert database.on_commit is None
    assert (observability.runtime, observability.interceptors) == (None, [])
    await observability.close()
