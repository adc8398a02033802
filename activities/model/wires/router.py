"""The model port: each request goes out on the wire that its endpoint names."""

from collections.abc import AsyncGenerator, Mapping, MutableMapping
from contextlib import aclosing
from typing import Final

from activities.model.failures import ModelError
from activities.model.headers import without_secrets
from activities.model.litellm_form import ChunkReader
from activities.model.litellm_model import LiteLLM
from activities.model.port import ModelEvent, ModelFacts, ModelRequest, Wire
from activities.model.wires import responses
from activities.model.wires.anthropic import AnthropicReader
from activities.model.wires.chat import Chat
from activities.model.wires.exchange import Connections
from activities.model.wires.gemini import GeminiReader
from activities.model.wires.http_wire import HttpWire
from activities.model.wires.responses_form import ResponsesReader
from activities.model.wires.silence import Silence
from activities.redact import Redactor

ASSUMED: Final = Silence()
NO_SECRETS: Final = Redactor()


class WireRouter:
    """Every wire of this process. `environment` is the process's: litellm is imported in it, prepared before.
    `redactor` knows the secrets of the process."""

    def __init__(
        self,
        environment: MutableMapping[str, str],
        *,
        silence: Silence = ASSUMED,
        redactor: Redactor = NO_SECRETS,
    ) -> None:
        self._redactor = redactor
        self._litellm = LiteLLM(environment, silence)
        self._connections = Connections()
        self._wires: Mapping[Wire, HttpWire] = {
            Wire.CHAT: HttpWire(self._connections, silence, Chat().prepare, ChunkReader),
            Wire.RESPONSES: HttpWire(self._connections, silence, responses.prepare, ResponsesReader),
            Wire.ANTHROPIC: HttpWire(self._connections, silence, self._litellm.anthropic, AnthropicReader),
            Wire.GEMINI: HttpWire(self._connections, silence, self._litellm.gemini, GeminiReader),
        }

    async def warm(self) -> None:
        """Import what asks models, on a thread, where it takes its seconds without holding anybody up."""
        await self._litellm.warm()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelPort.stream`. No failure shows the key or the headers of the endpoint."""
        wire: HttpWire | LiteLLM = self._wires.get(request.endpoint.wire, self._litellm)
        try:
            async with aclosing(wire.stream(request)) as events:
                async for event in events:
                    yield event
        except ModelError as error:
            # without what led to it, whose text may show them
            raise ModelError(without_secrets(error.failure, request.endpoint, self._redactor)) from None

    async def facts(self, model: str) -> ModelFacts:
        """See `ModelPort.facts`."""
        return await self._litellm.facts(model)

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()
        await self._litellm.close()
