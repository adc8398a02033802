"""The base of provider doubles: they run on this machine, record requests, and play pieces."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any, TypeAlias

from aiohttp import web


@dataclass(frozen=True)
class StreamPause:
    """Sends nothing for some seconds."""

    seconds: float


@dataclass(frozen=True)
class Disconnect:
    """Closes the connection: cleanly, like an end, or in the middle of the transfer."""

    clean: bool = True


StreamPlan: TypeAlias = Sequence[bytes | StreamPause | Disconnect]


class RefusedRequest(Exception):
    """A request that the provider refuses."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(str(body))
        self.status, self.body, self.headers = status, body, headers


@dataclass
class ProviderDouble:
    """A provider. `check` validates a request as the provider does and returns the pieces of the answer.

    `split`: bytes that are sent together; None: each piece. `cut`: pieces that are sent, the last one by half; then the
    connection ends. `played` is how many pieces the newest answer had; `received` are the bodies, as they came.
    """

    check: Callable[[web.Request, dict[str, Any]], StreamPlan]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    before: StreamPause | None = None  # until the headers
    after: StreamPause | Disconnect | None = None  # behind the answer
    kind: str = "text/event-stream"
    split: int | None = None
    cut: int | None = None
    played: int = 0
    received: list[bytes] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.received.append(await request.read())
        body = json.loads(self.received[-1])
        self.asked.append(body)
        self.paths.append(request.path)
        self.headers.append(request.headers)
        if self.before:
            await asyncio.sleep(self.before.seconds)
        try:
            play = self._cut(self.check(request, body))
        except RefusedRequest as refused:
            return web.json_response(refused.body, status=refused.status, headers=refused.headers)
        response = web.StreamResponse(headers={"content-type": self.kind})
        await response.prepare(request)
        with suppress(ConnectionError):  # the client may leave at any time
            for piece in (*play, *([self.after] if self.after else ())):
                match piece:
                    case StreamPause(seconds):
                        await asyncio.sleep(seconds)
                    case Disconnect(clean):
                        if not clean and request.transport is not None:
                            request.transport.abort()
                        return response
                    case _:
                        size = self.split or len(piece)
                        for start in range(0, len(piece), size):
                            await response.write(piece[start : start + size])
        return response

    def _cut(self, play: StreamPlan) -> StreamPlan:
        self.played = len(play)
        if self.cut is None or self.cut >= len(play):
            return play
        *whole, last = play[: self.cut + 1]
        return [*whole, last[: len(last) // 2]] if isinstance(last, bytes) else whole


@asynccontextmanager
async def serve_double(double: ProviderDouble, tls: SSLContext | None = None) -> AsyncIterator[ProviderDouble]:
    """Run the double; it answers every path, and checks it itself. With `tls`, it is `localhost`."""
    application = web.Application(client_max_size=2**28)
    application.router.add_post("/{path:.*}", double.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    double.url = f"{'https://localhost' if tls else 'http://127.0.0.1'}:{runner.addresses[0][1]}"
    try:
        yield double
    finally:
        await runner.cleanup()


def event(data: dict[str, Any], name: str | None = None) -> bytes:
    """A server-sent event."""
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {json.dumps(data)}\n\n".encode()
