"""Observing a worker: what cannot be, or is not wanted."""

import asyncio
import logging
import socket

import pytest

from activities.store.database import Database
from worker.observing import Observing
from worker.settings import Settings


async def test_a_port_that_is_taken_keeps_no_worker_from_working(
    settings: Settings, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as sdk, socket.socket() as ours, caplog.at_level(logging.WARNING):
        for taken, port in ((sdk, 0), (ours, None)):
            taken.bind(("127.0.0.1", sdk.getsockname()[1] - 1 if port is None else port))
            taken.listen()
        port = ours.getsockname()[1]
        observing = Observing(settings.model_copy(update={"metrics_port": port}))
        async with asyncio.timeout(60), Database(postgres_url) as database:
            await observing.run(database)

    assert observing.runtime is None
    assert [f":{each}: choose" in caplog.text for each in (port, port + 1)] == [True, True]


async def test_what_is_not_wanted_costs_nothing(settings: Settings, postgres_url: str) -> None:
    observing = Observing(settings)
    async with Database(postgres_url) as database:
        await observing.run(database)
        assert database.told is None
    assert (observing.runtime, observing.interceptors) == (None, [])
    await observing.close()
