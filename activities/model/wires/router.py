"""The model port: sends each request on its endpoint's wire."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, MutableMapping
from contextlib import aclosing
from typing import Final

from activities.model.chat_format import ChunkReader
from activities.model.failures import ModelError
from activities.model.headers import redact_failure
from activities.model.litellm_model import LiteLLM
from activities.model.model_table import ModelTables
from activities.model.port import ModelEvent, ModelFacts, ModelRequest, Wire
from activities.model.wires.anthropic import AnthropicReader
from activities.model.wires.anthropic_request import MessagesRequestBuilder
from activities.model.wires.chat import ChatRequestBuilder
from activities.model.wires.gemini import GeminiReader
from activities.model.wires.gemini_request import GeminiRequestBuilder
from activities.model.wires.http_client import Connections
from activities.model.wires.http_wire import HttpWire
from activities.model.wires.responses import ResponsesRequestBuilder
from activities.model.wires.responses_format import ResponsesReader
from activities.model.wires.timeouts import StreamTimeouts
from activities.redact import Redactor

DEFAULT_TIMEOUTS: Final = StreamTimeouts()
NO_SECRETS: Final = Redactor()
NO_FETCHED_TABLE: Final = ModelTables()


class WireRouter:
    """Every wire of this process.

    `environment`: the process's, prepared before litellm is imported. `redactor` knows the process's secrets.
    """

    def __init__(
        self,
        environment: MutableMapping[str, str],
        *,
        timeouts: StreamTimeouts = DEFAULT_TIMEOUTS,
        redactor: Redactor = NO_SECRETS,
        tables: ModelTables = NO_FETCHED_TABLE,
    ) -> None:
        self._redactor = redactor
        self._tables = tables
        self._facts: dict[tuple[str, int], ModelFacts] = {}  # by a model's name and the tables' version
        self._litellm = LiteLLM(environment, timeouts)
        self._connections = Connections()
        self._wires: Mapping[Wire, HttpWire] = {
            Wire.CHAT: HttpWire(self._connections, timeouts, ChatRequestBuilder().prepare, ChunkReader),
            Wire.RESPONSES: HttpWire(self._connections, timeouts, ResponsesRequestBuilder().prepare, ResponsesReader),
            Wire.ANTHROPIC: HttpWire(self._connections, timeouts, MessagesRequestBuilder().prepare, AnthropicReader),
            Wire.GEMINI: HttpWire(self._connections, timeouts, GeminiRequestBuilder().prepare, GeminiReader),
        }

    async def warm(self, wire: Wire = Wire.LITELLM) -> None:
        """Import litellm on a thread if this wire needs it: it takes seconds."""
        if wire is Wire.LITELLM:
            await self._litellm.load()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelPort.stream`. No failure shows the endpoint's key or headers."""
        wire: HttpWire | LiteLLM = self._wires.get(request.endpoint.wire, self._litellm)
        try:
            async with aclosing(wire.stream(request)) as events:
                async for event in events:
                    yield event
        except ModelError as error:
            # without its cause, whose text may show them
            raise ModelError(redact_failure(error.failure, request.endpoint, self._redactor)) from None

    async def facts(self, model: str) -> ModelFacts:
        """See `ModelPort.facts`; from files: a person's own endpoint needs no litellm."""
        known = model, self._tables.version
        if known not in self._facts:
            self._facts[known] = await asyncio.to_thread(self._tables.facts, model)
        return self._facts[known]

    async def close(self) -> None:
        await self._connections.close()
        await self._litellm.close()
