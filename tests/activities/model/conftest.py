"""The real adapter, for tests against the scripted model."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue

from activities.model.wires.router import WireRouter
from activities.model.wires.silence import Silence
from tests.activities.model.asking import Asking, Open
from tests.activities.scene import Scene
from worker.scripted.script import Script, ScriptedAnswer
from worker.scripted.server import serve


@pytest.fixture
async def adapter() -> AsyncIterator[WireRouter]:
    """An adapter that gives up on a silent provider after an hour."""
    adapter = WireRouter(os.environ, silence=Silence(3600, 3600, 3600))
    yield adapter
    await adapter.close()


@pytest.fixture
def open_model(scene: Scene, adapter: WireRouter) -> Open:
    @asynccontextmanager
    async def opened(*answers: ScriptedAnswer, **config: JsonValue) -> AsyncIterator[Asking]:
        async with serve(Script(answers=answers)) as server:
            provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": server.url, "apiKey": "k"}}
            scene.config.mkdir()
            (scene.config / "opencode.json").write_text(json.dumps({"provider": {"scripted": provider}}))
            await scene.open_turn(**config)
            yield Asking(scene, server, adapter)

    return opened
