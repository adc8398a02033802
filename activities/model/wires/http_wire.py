"""A protocol of requests with JSON bodies, answered by a stream of events."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from activities.model.failures import ModelError
from activities.model.litellm_failures import told
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
        try:
            response = await self.silence.headers_of(endpoint.provider, client.send(sent, stream=True))
            try:
                await exchange.refuse(response, endpoint)
                async with aclosing(exchange.events(response, endpoint, self.silence)) as events:
                    async for event in events:
                        for each in reader.read(event):
                            yield each
            finally:
                await exchange.close(response)
        except ModelError:
            raise
        except Exception as error:  # the library raises whatever one below it raises
            raise ModelError(told(endpoint.provider, error)) from error
        yield reader.finished()
