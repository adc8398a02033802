"""A protocol of requests with JSON bodies, answered by a stream of events."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
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
        async with AsyncExitStack() as opened:
            opened.enter_context(exchange.failing(provider))
            response = await self.silence.headers_of(provider, client.send(written, stream=True))
            opened.push_async_callback(exchange.close, response)
            await exchange.refuse(response, endpoint)
            events = exchange.events(response, endpoint, self.silence)
            async for event in await opened.enter_async_context(aclosing(events)):
                for each in reader.read(event):
                    yield each
        yield reader.finished()

    async def _written(self, request: ModelRequest) -> httpx.Request:
        prepared = await self.prepare(request)
        headers = {"content-type": "application/json", **prepared.headers}
        return self.connections.client.build_request("POST", prepared.url, headers=headers, content=prepared.body)
