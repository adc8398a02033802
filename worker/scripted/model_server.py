"""A real OpenAI-compatible HTTP server that plays scripts of a model.

Stateless: a request's messages determine the answer.
"""

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from worker.scripted.answer_player import AnswerPlayer
from worker.scripted.conversation_check import find_flaw
from worker.scripted.request_ledger import OpenRequest, RequestLedger, StreamEnd
from worker.scripted.script import (
    DEFAULT_SCRIPT,
    Refuse,
    Script,
    ScriptedAnswer,
    ScriptPosition,
    WebPage,
    script_position,
)

_LARGEST_REQUEST: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class ModelServer:
    """Plays scripts at `url`; `stalled` is set when an answer stalls. `received`: the newest request, or as many as a
    test has it hold."""

    def __init__(self, scripts: Mapping[str, Script], ledger: RequestLedger) -> None:
        self.scripts = scripts
        self.ledger = ledger
        self.url = ""
        self.received: deque[ReceivedRequest] = deque(maxlen=1)
        self.stalled = asyncio.Event()
        self._requests = 0
        self._attempts: Counter[tuple[str, int]] = Counter()

    @property
    def last_request(self) -> ReceivedRequest | None:
        return self.received[-1] if self.received else None

    def application(self) -> web.Application:
        application = web.Application(client_max_size=_LARGEST_REQUEST)
        application.router.add_post("/v1/chat/completions", self.chat)
        return application

    async def chat(self, request: web.Request) -> web.StreamResponse:
        sent = await request.read()
        began = datetime.now(UTC)  # parsing here is not the client's time
        body = json.loads(sent)
        self.received.append(ReceivedRequest(request.headers, body))
        open_request, answer = self._open_request(body, began)
        end = StreamEnd.CLIENT_LEFT
        try:
            wrong = find_flaw(body["messages"])
            if wrong or answer is None:
                end = StreamEnd.MALFORMED
                return _bad_request(wrong or "the script has no answer for this step")
            fault = answer.faults.get(open_request.attempt)
            if isinstance(fault, Refuse):
                end = StreamEnd.REFUSED
                return web.json_response(fault.body, status=fault.status, headers=fault.headers)
            if isinstance(fault, WebPage):
                end = StreamEnd.BROKEN
                return web.Response(text=fault.body, content_type=fault.content_type)
            answer_player = AnswerPlayer(request, body, open_request, answer, fault, self.stalled)
            end = await answer_player.play()
            return answer_player.response
        finally:
            self.ledger.write(open_request.close(end))

    def _open_request(self, body: Mapping[str, Any], began: datetime) -> tuple[OpenRequest, ScriptedAnswer | None]:
        self._requests += 1
        position = script_position(body["messages"])
        script = self.scripts.get(position.script)
        place, answer = script and script.unlisted_answer(body) or (position.step, None)
        self._attempts[position.script, place] += 1
        attempt = self._attempts[position.script, place]
        if answer is None and script and place < len(script.answers):
            answer = script.answers[place]
        asked = ScriptPosition(script=position.script, step=place)
        return OpenRequest(self._requests, attempt, asked, body["messages"], began), answer


def _bad_request(message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=400)


@asynccontextmanager
async def serve(scripts: Script | Mapping[str, Script], ledger: Path | None = None) -> AsyncIterator[ModelServer]:
    """Serve scripts on a free port of loopback."""
    named = {DEFAULT_SCRIPT: scripts} if isinstance(scripts, Script) else scripts
    server = ModelServer(named, RequestLedger(ledger))
    runner = web.AppRunner(server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield server
    finally:
        await runner.cleanup()
