"""Trials for acceptance tests: real processes, real SIGKILL, and the invariants at the end of each."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from tests.acceptance import workers
from tests.acceptance.trial import Trial, trial
from tests.acceptance.workers import Nursery
from worker.demo.script import Script, ScriptedAnswer
from worker.settings import Settings
from worker.stack.state import Endpoints

Open = Callable[..., AbstractAsyncContextManager[Trial]]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where this process's trials get their workers from."""
    with workers.nursery() as started:
        yield started


@pytest.fixture
def open_unjudged(
    settings: Settings,
    stack: Endpoints,
    postgres_url: str,
    temporal_client: Client,
    task_queue: str,
    tmp_path: Path,
    nursery: Nursery,
) -> Open:
    """Open a trial over a script (its answers, or several scripts by name) whose verdict the test asks for itself."""

    @asynccontextmanager
    async def opened(
        *answers: ScriptedAnswer, scripts: Mapping[str, Script] | None = None, **changed: Any
    ) -> AsyncIterator[Trial]:
        endpoints = stack.model_copy(update={"postgres_url": postgres_url})
        own = settings.model_copy(update={"task_queue": task_queue})
        script = scripts or Script(answers=answers)
        async with trial(own, endpoints, temporal_client, script, tmp_path, nursery, **changed) as built:
            yield built

    return opened


@pytest.fixture
def open_trial(open_unjudged: Open) -> Open:
    """Open a trial that passes only if every invariant holds at its end."""

    @asynccontextmanager
    async def opened(*answers: ScriptedAnswer, **more: Any) -> AsyncIterator[Trial]:
        async with open_unjudged(*answers, **more) as built:
            yield built
            assert await built.verdict() == []

    return opened
