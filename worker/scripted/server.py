"""The scripted model: a real OpenAI-compatible HTTP server that plays a script, for the demo, tests and benches.

It keeps no state of a conversation: which answer is due follows from the messages that it gets.
"""

import argparse
import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from worker.scripted.conversation import flaw
from worker.scripted.ledger import End, Ledger, Visit
from worker.scripted.performance import Performance
from worker.scripted.script import DEFAULT, Cue, Page, Refuse, Script, ScriptedAnswer, cue, read_scripts

_LARGEST_REQUEST: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    headers: Mapping[str, str]
    body: Mapping[str, Any]


class ModelServer:
    """Plays scripts at `url`; `ledger` tells what was asked of it.

    `last` is the newest request, and `stalled` is set when an answer has come to its stall.
    """

    def __init__(self, scripts: Mapping[str, Script], ledger: Ledger) -> None:
        self.scripts = scripts
        self.ledger = ledger
        self.url = ""
        self.last: Asked | None = None
        self.stalled = asyncio.Event()
        self._requests = 0
        self._asked: Counter[tuple[str, int]] = Counter()

    def application(self) -> web.Application:
        application = web.Application(client_max_size=_LARGEST_REQUEST)
        application.router.add_post("/v1/chat/completions", self.chat)
        application.router.add_get("/v1/models", self.models)
        return application

    async def models(self, _: web.Request) -> web.Response:
        listed = [{"id": name, "object": "model", "owned_by": "holdfast"} for name in self.scripts]
        return web.json_response({"object": "list", "data": listed})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        sent = await request.read()
        began = datetime.now(UTC)  # what the server makes of the request is not the client's time
        body = json.loads(sent)
        self.last = Asked(request.headers, body)
        visit, due = self._visit(body, began)
        end = End.LEFT
        try:
            wrong = flaw(body["messages"])
            if wrong or due is None:
                end = End.MALFORMED
                return _bad_request(wrong or "the script has no answer for this step")
            fault = due.faults.get(visit.asked)
            if isinstance(fault, Refuse):
                end = End.REFUSED
                return web.json_response(fault.body, status=fault.status, headers=fault.headers)
            if isinstance(fault, Page):
                end = End.BROKEN
                return web.Response(text=fault.body, content_type=fault.content_type)
            performance = Performance(request, body, visit, due, fault, self.stalled)
            end = await performance.play()
            return performance.response
        finally:
            self.ledger.write(visit.close(end))

    def _visit(self, body: Mapping[str, Any], began: datetime) -> tuple[Visit, ScriptedAnswer | None]:
        self._requests += 1
        standing = cue(body["messages"])
        script = self.scripts.get(standing.script)
        if script and script.aside and not body.get("tools"):
            return Visit(self._requests, 1, standing, body["messages"], began), script.aside
        self._asked[standing.script, standing.step] += 1
        asked = self._asked[standing.script, standing.step]
        return Visit(self._requests, asked, standing, body["messages"], began), _answer(script, standing)


def _answer(script: Script | None, standing: Cue) -> ScriptedAnswer | None:
    if script is None or standing.step >= len(script.answers):
        return None
    return script.answers[standing.step]


def _bad_request(message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=400)


@asynccontextmanager
async def serve(
    scripts: Script | Mapping[str, Script], ledger: Path | None = None, port: int = 0
) -> AsyncIterator[ModelServer]:
    """Serve scripts on loopback while the context lasts; port 0 takes a free one."""
    named = {DEFAULT: scripts} if isinstance(scripts, Script) else scripts
    server = ModelServer(named, Ledger(ledger))
    runner = web.AppRunner(server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield server
    finally:
        await runner.cleanup()


async def _run(script: Path, ledger: Path, port_file: Path, port: int) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with serve(read_scripts(script), ledger, port) as server:
        _announce(port_file, server.url)
        await stop.wait()


def _announce(port_file: Path, url: str) -> None:
    """Write the port in one step, so that whoever waits for the file never reads half of it."""
    draft = port_file.with_name(f"{port_file.name}.new")
    draft.write_text(url.removesuffix("/v1").rpartition(":")[2])
    draft.replace(port_file)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -P -m worker.scripted.server", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="JSON: an object from script name to script")
    parser.add_argument("--ledger", type=Path, required=True, help="file that gets one line per request")
    parser.add_argument("--port-file", type=Path, required=True, help="file that gets the port once it is open")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    given = parser.parse_args()
    asyncio.run(_run(given.script, given.ledger, given.port_file, given.port))


if __name__ == "__main__":
    main()
