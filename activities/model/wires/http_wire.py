"""A protocol of requests with JSON bodies, answered by a stream of events."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from activities.model.port import ModelEvent, ModelRequest
from activities.model.wires import exchange
from activities.model.wires.answer_reader import AnswerReader
from activities.model.wires.http_client import Connections
from activities.model.wires.timeouts import StreamTimeouts


@dataclass(frozen=True)
class WireRequest:
    """A request as sent."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class HttpWire:
    """Asks models in one protocol: `prepare` makes its requests, a `reader` reads one answer."""

    connections: Connections
    timeouts: StreamTimeouts
    prepare: Callable[[ModelRequest], WireRequest]
    reader: Callable[[str], AnswerReader]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelPort.stream`."""
        endpoint = request.endpoint
        reader = self.reader(endpoint.provider)
        response = await self._send(request)
        with exchange.translate_errors(endpoint.provider):
            async with (
                aclosing(response),
                aclosing(await exchange.open_events(response, endpoint, self.timeouts)) as batches,
            ):
                async for events in batches:
                    for event in events:
                        for each in reader.read(event):
                            yield each
        yield reader.finish()

    async def _send(self, request: ModelRequest) -> httpx.Response:
        provider, client = request.endpoint.provider, self.connections.client
        with exchange.translate_request_errors(provider):
            prepared = self.prepare(request)
            headers = {"content-type": "application/json", **prepared.headers}
            http_request = client.build_request("POST", prepared.url, headers=headers, content=prepared.body)
        with exchange.translate_errors(provider):
            return await self.timeouts.await_headers(provider, client.send(http_request, stream=True))
