"""A worker that is killed while it fetches: the next one fetches again, as a GET changes nothing, and it ends once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE
from tests.acceptance.trial import Trial
from tests.polling import wait_until
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance


@dataclass
class SlowServer:
    """Never answers its first request; `asked`: the paths of all."""

    url: str = ""
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if len(self.asked) == 1:
            await asyncio.Event().wait()
        return web.Response(text="here")


@asynccontextmanager
async def slow_server() -> AsyncIterator[SlowServer]:
    server = SlowServer()
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://localhost:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


def allow(trial: Trial, server: SlowServer) -> None:
    host = server.url.removeprefix("http://")
    trial.harness.configure_person(model={}, holdfast={"web": {"private_hosts": [host], "search": server.url}})


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [("webfetch", {"url": "URL/a"}, "/a"), ("websearch", {"query": "kites"}, "/search")],
)
async def test_a_fetch_whose_worker_is_killed_is_made_again_and_ends_once(
    open_trial: Open, tool: str, arguments: dict[str, str], path: str
) -> None:
    async with slow_server() as server:
        written = {name: value.replace("URL", server.url) for name, value in arguments.items()}
        call = ScriptedAnswer(tools=(ScriptedCall(name=tool, arguments=dict(written)),))
        async with open_trial(call, DONE) as trial:
            allow(trial, server)
            worker = await trial.worker()
            session = await trial.start_session("Look it up.")
            await wait_until(lambda: bool(server.asked))
            await worker.kill()
            await trial.worker()
            ended = await trial.ended_call(session)
            events = [event.type for event in await trial.harness.events(session)]
    assert server.asked == [path, path]
    assert events.count("call.finished") == 1 and ended.outcome is not None
    if tool == "webfetch":
        assert (ended.state, ended.outcome.output) == (CallState.DONE, "here")
    else:
        assert "cannot be read as results of a search" in ended.outcome.output
