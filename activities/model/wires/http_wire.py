"""A protocol of requests with JSON bodies, answered by a stream of events."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from activities.model.port import ModelEvent, ModelRequest
from activities.model.wires import exchange
from activities.model.wires.exchange import Connections
from activities.model.wires.reader import Reader
from activities.model.wires.silence import Silence


@dataclass(frozen=True)
class Prepared:
    """A request as it is sent."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class HttpWire:
    """Asks models in one protocol: `prepare` makes its requests, and a `reader` reads one answer."""

    connections: Connections
    silence: Silence
    prepare: Callable[[ModelRequest], Awaitable[Prepared]]
    reader: Callable[[str], Reader]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelPort.stream`."""
        endpoint = request.endpoint
        provider = endpoint.provider
        reader = self.reader(provider)
        with exchange.writing(provider):
            client, written = self.connections.client, await self._written(request)
        with exchange.failing(provider):
            response = await self.silence.headers_of(provider, client.send(written, stream=True))
            events = exchange.events(response, endpoint, self.silence)
            async with aclosing(response), aclosing(events):
                async for event in events:
                    for each in reader.read(event):
                        yield each
        yield reader.finished()

    async def _written(self, request: ModelRequest) -> httpx.Request:
        prepared = await self.prepare(request)
        headers = {"content-type": "application/json", "content-length": str(len(prepared.body)), **prepared.headers}
        return self.connections.client.build_request(
            "POST", prepared.url, headers=headers, content=_forgotten(prepared.body)
        )


async def _forgotten(body: bytes) -> AsyncIterator[bytes]:
    """A body that is gone when it is sent: httpx keeps requests and responses in cycles, and a long conversation's
    megabytes would wait in them for the collector of cycles, which comes by after many steps."""
    yield body
