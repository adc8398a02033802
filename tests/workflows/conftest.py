"""Harnesses for workflow tests."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.model.wires.router import WireRouter
from tests.conftest import AUTHORITIES
from tests.harness import Harness, failed_tasks, harness
from worker.scripted.script import Script, ScriptedAnswer
from worker.settings import Settings, process_environment
from worker.stack.state_file import Endpoints

Open = Callable[..., AbstractAsyncContextManager[Harness]]


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[WireRouter]:
    """The model port; its connections end with the test, like its loop."""
    for name in AUTHORITIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    port = WireRouter(process_environment())
    yield port
    await port.close()


@pytest.fixture
def with_sweeper() -> bool:
    """Whether workers have a sweeper; tests override it."""
    return True


@pytest.fixture
def pooler_url() -> str | None:
    """The address of a pooler before the database; tests override it."""
    return None


@pytest.fixture
def open_harness(
    settings: Settings,
    stack: Endpoints,
    postgres_url: str,
    temporal_client: Client,
    task_queue: str,
    port: WireRouter,
    tmp_path: Path,
    with_sweeper: bool,
    pooler_url: str | None,
) -> Open:
    """Open a harness for a script (answers, or several scripts by name); no workflow task may fail in it."""

    @asynccontextmanager
    async def opened(*answers: ScriptedAnswer, scripts: Mapping[str, Script] | None = None) -> AsyncIterator[Harness]:
        endpoints = stack.model_copy(update={"postgres_url": postgres_url, "pooler_url": pooler_url})
        own = settings.model_copy(update={"task_queue": task_queue})
        script = scripts or Script(answers=answers)
        async with harness(own, endpoints, temporal_client, port, script, tmp_path) as built:
            built.with_sweeper = with_sweeper
            yield built
            for overview in await built.client.sessions.list_recent():
                assert failed_tasks(await built.history(overview.id)) == []

    return opened
