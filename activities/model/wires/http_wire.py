"""A protocol of requests with JSON bodies, answered by a stream of events."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

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
        reader = self.reader(endpoint.provider)
        prepared, client = await self.prepare(request), self.connections.client
        sent = client.build_request(
            "POST",
            prepared.url,
            headers={"content-type": "application/json", **prepared.headers},
            content=prepared.body,
        )
        async with AsyncExitStack() as opened:
            opened.enter_context(exchange.failing(endpoint.provider))
            response = await self.silence.headers_of(endpoint.provider, client.send(sent, stream=True))
            opened.push_async_callback(response.aclose)
            await exchange.refuse(response, endpoint)
            events = exchange.events(response, endpoint, self.silence)
            async for event in await opened.enter_async_context(aclosing(events)):
                for each in reader.read(event):
                    yield each
        yield reader.finished()
