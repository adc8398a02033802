"""Waiting for an address: as long as an outage may last, unless it has never answered."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from activities.model.wires.router import WireRouter
from tests.activities.model.model_rig import ModelRig
from tests.activities.rig import ActivityRig
from worker.scripted.model_server import serve
from worker.scripted.script import Refuse, Script, ScriptedAnswer

HELLO = ScriptedAnswer(text="Hello.")
BUSY = ScriptedAnswer(text="Hello.", faults={1: Refuse(status=503)})


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@asynccontextmanager
async def asked_at(
    rig: ActivityRig, adapter: WireRouter, url: str, *answers: ScriptedAnswer
) -> AsyncIterator[ModelRig]:
    """A model configured at `url`, beside a server within the context."""
    async with serve(Script(answers=answers)) as server:
        options = {"baseURL": url or server.url, "apiKey": "k"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options}
        rig.config.mkdir(exist_ok=True)
        (rig.config / "opencode.json").write_text(json.dumps({"provider": {"scripted": provider}}))
        await rig.open_turn()
        yield ModelRig(rig, server, adapter)


async def tries(model: ModelRig, count: int) -> list[bool]:
    """For `count` failing attempts at one step, whether each was the last."""
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
    rig: ActivityRig, adapter: WireRouter, url: str, cause: str
) -> None:
    async with serve(Script(answers=())) as plain:
        address = url.format(closed=closed_port(), plain=plain.url.removesuffix("/v1").rpartition(":")[2])
        async with asked_at(rig, adapter, address) as model:
            request = model.request()
            for attempt in (1, 2):
                assert not (await model.failure(request, attempt)).non_retryable
                await model.rested()
            failed = await model.failure(request, attempt=3)
            log = await rig.types()
    assert (failed.type, failed.non_retryable) == ("ModelFailed", True)
    assert str(failed).startswith(
        f"ModelFailed: scripted at {address.replace('user:secret@', '')} does not answer {cause}"
    )
    assert str(failed).endswith("see provider.scripted.options.baseURL in opencode.json.")
    assert log.count("model.retry") == 2


async def test_an_address_that_answered_in_any_session_is_waited_for(rig: ActivityRig, adapter: WireRouter) -> None:
    async with asked_at(rig, adapter, "", HELLO) as model:
        await model.generate()
        await rig.close()
    async with asked_at(rig, adapter, f"http://127.0.0.1:{closed_port()}/v1") as model:
        assert await tries(model, 6) == [False] * 6


@pytest.mark.parametrize("one_worker", [True, False])
async def test_an_address_that_only_refused_to_work_is_waited_for(
    rig: ActivityRig, adapter: WireRouter, one_worker: bool
) -> None:
    async with asked_at(rig, adapter, "", BUSY) as model:
        model.worker, request = model.started() if one_worker else None, model.request()
        said = [str(await model.failure(request))]
        await model.rested()
    for attempt in (2, 3, 4, 5):
        failed = await model.failure(request, attempt)
        said.append(str(failed))
        assert not failed.non_retryable
        await model.rested()
    assert "Rate limit reached" in said[0]
    assert all("Connect call failed" in each for each in said[1:])
