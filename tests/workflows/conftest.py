"""Houses for workflow tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.model.wires.router import WireRouter
from tests.house import House, failed_tasks, house
from worker.scripted.script import Script, ScriptedAnswer
from worker.settings import Settings, process_environment
from worker.stack.state import Endpoints

Open = Callable[..., AbstractAsyncContextManager[House]]


@pytest.fixture(scope="session")
def warm() -> WireRouter:
    """An adapter whose library is loaded: its seconds of importing are paid once per process."""
    model = WireRouter(process_environment())
    asyncio.run(model.warm())
    return model


@pytest.fixture
async def port(warm: WireRouter) -> AsyncIterator[WireRouter]:
    """The model port; its connections end with the test, for its loop does, too."""
    yield warm
    await warm.close()


@pytest.fixture
def swept() -> bool:
    """Whether workers have a sweeper, where a test does not say."""
    return True


@pytest.fixture
def open_house(
    settings: Settings,
    stack: Endpoints,
    postgres_url: str,
    temporal_client: Client,
    task_queue: str,
    port: WireRouter,
    tmp_path: Path,
    swept: bool,
) -> Open:
    """Open a house for a script (its answers, or several scripts by name); no workflow task may fail in it."""

    @asynccontextmanager
    async def opened(*answers: ScriptedAnswer, scripts: Mapping[str, Script] | None = None) -> AsyncIterator[House]:
        endpoints = stack.model_copy(update={"postgres_url": postgres_url})
        own = settings.model_copy(update={"task_queue": task_queue})
        script = scripts or Script(answers=answers)
        async with house(own, endpoints, temporal_client, port, script, tmp_path) as built:
            built.swept = swept
            yield built
            for overview in await built.client.sessions():
                assert failed_tasks(await built.history(overview.id)) == []

    return opened
