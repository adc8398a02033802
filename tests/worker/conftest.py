"""Harnesses without a worker: clients, rows and signals, without model requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.model.wires.router import WireRouter
from tests.harness import ACTOR, Harness
from tests.harness import harness as build
from worker.client import Holdfast
from worker.scripted.script import Script
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.prompt import Prompt
from workflows.domain.views.accepted import AcceptedPrompt


@pytest.fixture
async def harness(
    settings: Settings,
    stack: Endpoints,
    postgres_url: str,
    temporal_client: Client,
    task_queue: str,
    tmp_path: Path,
) -> AsyncIterator[Harness]:
    """A harness whose sessions wait until the test opens `Harness.running_worker`."""
    endpoints = stack.model_copy(update={"postgres_url": postgres_url})
    own = settings.model_copy(update={"task_queue": task_queue})
    async with build(own, endpoints, temporal_client, WireRouter({}), Script(answers=()), tmp_path) as built:
        yield built


@asynccontextmanager
async def client_without_engine(harness: Harness, *, passes_on: bool = False) -> AsyncIterator[SessionClient]:
    """A client that cannot reach Temporal."""
    away = harness.endpoints.model_copy(update={"temporal_address": "127.0.0.1:9"})
    async with Holdfast(harness.settings, away, passes_on=passes_on) as holdfast:
        client = holdfast.as_(ACTOR)
        yield client


async def undelivered_prompt(harness: Harness) -> AcceptedPrompt:
    """A session with a prompt accepted while Temporal was away."""
    async with client_without_engine(harness) as client:
        return await client.start(str(harness.project), Prompt.of_text("Hello.", model="scripted/model"))
