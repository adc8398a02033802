"""The model port: sends each request on its endpoint's wire."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, MutableMapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from activities.model.aws import AwsProfiles
from activities.model.endpoint import Wire
from activities.model.headers import redact_failure
from activities.model.model_table import ModelTables
from activities.model.port import ModelEvent, ModelFacts, ModelRequest
from activities.model.tool_schemas import clean_tools
from activities.model.wires import (
    anthropic_request,
    bedrock_request,
    chat_request,
    gemini_request,
    ollama,
    responses_request,
)
from activities.model.wires.advice import advise
from activities.model.wires.anthropic import AnthropicReader
from activities.model.wires.bedrock import ConverseReader
from activities.model.wires.chat import ChatReader
from activities.model.wires.event_frames import FrameSplitter
from activities.model.wires.gemini import GeminiReader
from activities.model.wires.google_tokens import GoogleTokens
from activities.model.wires.http_client import Connections
from activities.model.wires.http_wire import HttpWire
from activities.model.wires.litellm.litellm_model import LiteLLM
from activities.model.wires.ollama import OllamaReader
from activities.model.wires.responses_reader import ResponsesReader
from activities.model.wires.sse import LineSplitter
from activities.model.wires.timeouts import StreamTimeouts
from activities.redact import Redactor
from workflows.domain.errors import ModelError

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
        self._connections = Connections(environment)
        self._google = GoogleTokens(environment, timeouts)
        self._aws = AwsProfiles(environment)
        self._wires: Mapping[Wire, HttpWire] = {
            Wire.CHAT: HttpWire(self._connections, timeouts, chat_request.prepare, ChatReader),
            Wire.RESPONSES: HttpWire(self._connections, timeouts, responses_request.prepare, ResponsesReader),
            Wire.ANTHROPIC: HttpWire(self._connections, timeouts, anthropic_request.prepare, AnthropicReader),
            Wire.GEMINI: HttpWire(self._connections, timeouts, gemini_request.prepare, GeminiReader),
            Wire.OLLAMA: HttpWire(self._connections, timeouts, ollama.prepare, OllamaReader, splitter=LineSplitter),
            Wire.BEDROCK: HttpWire(
                *(self._connections, timeouts, bedrock_request.prepare, ConverseReader, FrameSplitter),
                authorize=self._aws.authorize,
            ),
        }

    async def warm(self, wire: Wire = Wire.LITELLM) -> None:
        """Import litellm on a thread if this wire needs it: it takes seconds."""
        if wire is Wire.LITELLM:
            await self._litellm.load()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """See `ModelPort.stream`. No failure shows the endpoint's key or headers."""
        endpoint = request.endpoint
        wire: HttpWire | LiteLLM = self._wires.get(endpoint.wire, self._litellm)
        given, named = request.tools, (endpoint.wire, endpoint.model, endpoint.behind)
        tools = request.encoder.make_once(named, given, lambda: clean_tools(request.endpoint, given))
        try:
            endpoint = await self._google.authorize(endpoint)
            async with aclosing(wire.stream(replace(request, endpoint=endpoint, tools=tools))) as batches:
                async for events in batches:
                    yield events
        except ModelError as error:
            if error.failure.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                self._google.forget(endpoint)
            failure = advise(endpoint, error.failure)
            # without its cause, whose text may show them
            raise ModelError(redact_failure(failure, endpoint, self._redactor, self._aws.secrets)) from None

    async def facts(self, model: str) -> ModelFacts:
        """See `ModelPort.facts`; from files: a person's own endpoint needs no litellm."""
        known = model, self._tables.version
        if known not in self._facts:
            self._facts[known] = await asyncio.to_thread(self._tables.facts, model)
        return self._facts[known]

    async def aws_region(self, profile: str | None) -> str:
        """See `ModelPort.aws_region`."""
        return await self._aws.region(profile)

    async def close(self) -> None:
        await self._connections.close()
        await self._litellm.close()
