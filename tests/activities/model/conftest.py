"""The real adapter, for tests against the scripted model."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue

from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts
from tests.activities.model.model_rig import ModelRig, Open
from tests.activities.rig import ActivityRig
from worker.scripted.model_server import serve
from worker.scripted.script import Script, ScriptedAnswer


@pytest.fixture
async def adapter() -> AsyncIterator[WireRouter]:
    """An adapter that gives up on a silent provider after an hour."""
    adapter = WireRouter(os.environ, timeouts=StreamTimeouts(200, 200, 200))
    yield adapter
    await adapter.close()


@pytest.fixture
def open_model(rig: ActivityRig, adapter: WireRouter) -> Open:
    @asynccontextmanager
    async def opened(
        *answers: ScriptedAnswer, models: JsonValue = None, **config: JsonValue
    ) -> AsyncIterator[ModelRig]:
        async with serve(Script(answers=answers)) as server:
            options = {"baseURL": server.url, "apiKey": "k"}
            provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models or {}}
            rig.config.mkdir()
            (rig.config / "opencode.json").write_text(json.dumps({"provider": {"scripted": provider}}))
            await rig.open_turn(**config)
            yield ModelRig(rig, server, adapter)

    return opened
