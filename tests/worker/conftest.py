"""A house without a worker: doors, rows and bells, and a model that nobody asks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.model.wires.router import WireRouter
from tests.house import ACTOR, House
from tests.house import house as build
from worker.client import Accepted, SessionClient
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.state import Endpoints


@pytest.fixture
async def house(
    settings: Settings,
    stack: Endpoints,
    postgres_url: str,
    temporal_client: Client,
    task_queue: str,
    tmp_path: Path,
) -> AsyncIterator[House]:
    """A house whose sessions wait until the test opens `House.working`."""
    endpoints = stack.model_copy(update={"postgres_url": postgres_url})
    own = settings.model_copy(update={"task_queue": task_queue})
    async with build(own, endpoints, temporal_client, WireRouter({}), Script(answers=()), tmp_path) as built:
        yield built


@asynccontextmanager
async def cut_off(house: House, *, passes_on: bool = False) -> AsyncIterator[SessionClient]:
    """A client that cannot reach Temporal."""
    away = house.endpoints.model_copy(update={"temporal_address": "127.0.0.1:9"})
    async with SessionClient(house.settings, away, ACTOR, passes_on=passes_on) as client:
        yield client


async def unheard(house: House) -> Accepted:
    """A session whose prompt was accepted while Temporal was away."""
    async with cut_off(house) as client:
        return await client.start(str(house.project), "Hello.", model="scripted/model")
