"""A protocol of requests with JSON bodies, answered by a stream of events."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from activities.model.endpoint import Endpoint
from activities.model.headers import request_headers, session_headers
from activities.model.port import ModelEvent, ModelRequest, RequestAccepted
from activities.model.wires import exchange
from activities.model.wires.answer_reader import AnswerReader
from activities.model.wires.http_client import Connections
from activities.model.wires.http_library import httpx
from activities.model.wires.sse import EventSplitter, Splitter
from activities.model.wires.timeouts import StreamTimeouts
from activities.model.wires.wire_request import WireRequest

_JSON: Final = {"content-type": "application/json"}
_END: Final = 5.0  # seconds until a stream ends that has brought its answer's end and usage: some servers never do


async def _as_prepared(_: Endpoint, prepared: WireRequest) -> WireRequest:
    return prepared


@dataclass(frozen=True)
class HttpWire:
    """Asks models in one protocol: `prepare` makes its requests, a `reader` reads one answer, split by `splitter`.

    `authorize`: adds what cannot be had at once, such as a signature.
    """

    connections: Connections
    timeouts: StreamTimeouts
    prepare: Callable[[ModelRequest], WireRequest]
    reader: Callable[[str], AnswerReader]
    splitter: Callable[[str], Splitter] = EventSplitter
    authorize: Callable[[Endpoint, WireRequest], Awaitable[WireRequest]] = _as_prepared

    @cached_property
    def _with_pauses(self) -> StreamTimeouts:
        return self.timeouts.with_pauses()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """See `ModelPort.stream`."""
        endpoint = request.endpoint
        # A person's own servers: many send their headers with an answer's first piece, once the prompt is read
        # (llama.cpp before its pull request 23884, FastFlowLM, Ollama), and some nothing while they collect a call.
        usual = self._with_pauses if endpoint.is_own_server else self.timeouts
        timeouts = usual.configured(endpoint.silence)
        reader = self.reader(endpoint.provider)
        response, splitter = await self._send(request, timeouts), self.splitter(endpoint.provider)
        with exchange.translate_errors(endpoint.provider):
            async with (
                aclosing(response),
                aclosing(await exchange.open_stream(response, endpoint, timeouts, splitter.recognizes)) as received,
            ):
                yield [RequestAccepted()]
                until = None
                while not (reader.ended or splitter.ended):
                    if until is None and reader.finish_reason is not None and reader.usage:
                        until = asyncio.get_running_loop().time() + _END
                    piece = await _next(received, reader, until)
                    events, failure = reader.read(splitter.close() if piece is None else splitter.feed(piece))
                    if events:  # also before a failure: a part of the answer, which is paid for
                        yield events
                    if failure is not None:
                        raise failure
                    if piece is None:
                        break
                if splitter.ended and reader.finish_reason is None and (rest := [*reader.end()]):
                    yield rest
                await exchange.drain(received)
        yield [reader.finish()]

    async def _send(self, request: ModelRequest, timeouts: StreamTimeouts) -> httpx.Response:
        provider, client = request.endpoint.provider, self.connections.client(request.endpoint.route)
        with exchange.translate_request_errors(provider):
            prepared = await self.authorize(request.endpoint, self.prepare(request))
            # the last one wins, however it is written
            own = request_headers(request.endpoint)
            named = (*_JSON.items(), *session_headers(request).items(), *prepared.headers.items(), *own.items())
            headers = {name.lower(): value for name, value in named}
            http_request = client.build_post(prepared.url, headers, prepared.pieces)
        with exchange.translate_errors(provider):
            return await timeouts.await_headers(provider, client.send(http_request, stream=True))


async def _next(received: AsyncGenerator[bytes, None], reader: AnswerReader, until: float | None) -> bytes | None:
    """None at the end. A connection that is lost or silent after a finish reason, or at the moment `until`, has ended:
    its answer is paid for."""
    try:
        async with asyncio.timeout_at(until):
            return await anext(received, None)
    except Exception:
        if reader.finish_reason is None:
            raise
        return None
