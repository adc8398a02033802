"""OpenAI's Responses API, by the call of OpenAI's own package."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from importlib import import_module
from typing import Any, Final

from activities.model.port import Endpoint, ModelEvent, ModelRequest
from activities.model.wires import exchange
from activities.model.wires.exchange import Connections
from activities.model.wires.responses_form import ResponsesReader, body
from activities.model.wires.silence import Silence

_NO_KEY: Final = "no-key"  # the client insists on one; endpoints without keys ignore it


class Responses:
    """Asks models over the connections that it is given."""

    def __init__(self, connections: Connections, silence: Silence) -> None:
        self._connections = connections
        self._silence = silence

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelPort.stream`."""
        provider = request.endpoint.provider
        reader = ResponsesReader(provider)
        with exchange.writing(provider):
            # all of the body stands in `extra_body`, which the client sends as it is, and does not convert item by item
            asking = self._client(request.endpoint).responses.with_streaming_response.create(
                model=request.endpoint.name, input="", stream=True, extra_body=body(request)
            )
        async with AsyncExitStack() as opened:
            opened.enter_context(exchange.failing(provider))
            response = await self._silence.headers_of(provider, opened.enter_async_context(asking))
            opened.push_async_callback(exchange.close, response.http_response)
            events = exchange.events(response.http_response, request.endpoint, self._silence)
            async for event in await opened.enter_async_context(aclosing(events)):
                for each in reader.read(event):
                    yield each
        yield reader.finished()

    def _client(self, endpoint: Endpoint) -> Any:
        library = import_module("openai")  # not above: it costs a second, in which a worker could have begun to work
        return library.AsyncOpenAI(
            api_key=endpoint.key.get_secret_value() if endpoint.key else _NO_KEY,
            base_url=endpoint.base_url,
            default_headers=endpoint.headers or None,
            http_client=self._connections.client,
            max_retries=0,
            timeout=None,  # `Silence` watches
        )
