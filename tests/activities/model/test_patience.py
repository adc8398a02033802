"""How long an address is waited for: as long as an outage may last, unless it has never answered."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from activities.model.wires.router import WireRouter
from tests.activities.model.asking import Asking
from tests.activities.scene import Scene
from worker.scripted.script import Refuse, Script, ScriptedAnswer
from worker.scripted.server import serve

HELLO = ScriptedAnswer(text="Hello.")
BUSY = ScriptedAnswer(text="Hello.", faults={1: Refuse(status=503)})


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@asynccontextmanager
async def asked_at(scene: Scene, adapter: WireRouter, url: str, *answers: ScriptedAnswer) -> AsyncIterator[Asking]:
    """A model that is configured to be at `url`, beside a server that is there while the context lasts."""
    async with serve(Script(answers=answers)) as server:
        options = {"baseURL": url or server.url, "apiKey": "k"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options}
        scene.config.mkdir(exist_ok=True)
        (scene.config / "opencode.json").write_text(json.dumps({"provider": {"scripted": provider}}))
        await scene.open_turn()
        yield Asking(scene, server, adapter)


async def tries(model: Asking, count: int) -> list[bool]:
    """For so many attempts at one step, none of which succeeds, whether each was the last."""
    request, last = model.request(), []
    for attempt in range(1, count + 1):
        last.append(bool((await model.failure(request, attempt)).non_retryable))
        await model.rested()
    return last


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("http://127.0.0.1:{closed}/v1", "(Connection refused)"),
        ("http://user:secret@localhost:{closed}/v1", "(Connection refused)"),
        ("http://no-such-host.invalid/v1", "("),
        ("https://127.0.0.1:{plain}/v1", "("),
    ],
)
async def test_an_address_that_never_answered_fails_at_the_third_try_and_names_its_setting(
    scene: Scene, adapter: WireRouter, url: str, cause: str
) -> None:
    async with serve(Script(answers=())) as plain:
        address = url.format(closed=closed_port(), plain=plain.url.removesuffix("/v1").rpartition(":")[2])
        async with asked_at(scene, adapter, address) as model:
            request = model.request()
            for attempt in (1, 2):
                assert not (await model.failure(request, attempt)).non_retryable
                await model.rested()
            failed = await model.failure(request, attempt=3)
            log = await scene.types()
    assert (failed.type, failed.non_retryable) == ("ModelFailed", True)
    assert str(failed).startswith(
        f"ModelFailed: scripted at {address.replace('user:secret@', '')} does not answer {cause}"
    )
    assert str(failed).endswith("see provider.scripted.options.baseURL in opencode.json.")
    assert log.count("model.retry") == 2


async def test_an_address_that_answered_in_any_session_is_waited_for(scene: Scene, adapter: WireRouter) -> None:
    async with asked_at(scene, adapter, "", HELLO) as model:
        await model.generate()
        await scene.close()
    async with asked_at(scene, adapter, f"http://127.0.0.1:{closed_port()}/v1") as model:
        assert await tries(model, 6) == [False] * 6


async def test_an_address_that_only_refused_to_work_is_waited_for(scene: Scene, adapter: WireRouter) -> None:
    async with asked_at(scene, adapter, "", BUSY) as model:
        model.worker, request = model.started(), model.request()
        said = [str(await model.failure(request))]
        await model.rested()
    for attempt in (2, 3, 4):
        failed = await model.failure(request, attempt)
        said.append(str(failed))
        assert not failed.non_retryable
        await model.rested()
    assert "Rate limit reached" in said[0]
    assert all("Connect call failed" in each for each in said[1:])
