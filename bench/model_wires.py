"""CPU time of a request on each wire, beside plain `httpx` that sends the same bytes and reads the same stream."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, repeat
from pathlib import Path
from statistics import median
from typing import Final

import httpx
import openai
from botocore.eventstream import EventStreamBuffer
from pydantic import JsonValue, SecretStr

from activities.model.encoded_messages import MessageEncoder
from activities.model.endpoint import AwsSignIn, Endpoint, Wire
from activities.model.port import AssistantInput, InputMessage, ModelRequest, SystemInput, ToolResultInput, UserInput
from activities.model.wires.router import WireRouter
from bench.canned_answers import LAST
from bench.figure_table import Budget, Figure
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer

MESSAGES: Final = 400
OWN: Final = Budget(must=1.5, aim=1.2, ratio=True)
_ROUNDS: Final = 45
_WARM: Final = 2  # requests before any counts: the second one of a session is the first that does
_KEY: Final = SecretStr("key")
_AWS: Final = AwsSignIn(region="us-east-1", access_key="key", secret_key=_KEY)
_PART: Final = "the same"
_RESULT: Final = "u" * 1000
ROOT: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Asked:
    """A model on a wire; `thought`: details of the reasoning in each earlier answer, None for no reasoning.

    `options`: of the request.
    """

    name: str
    wire: Wire
    model: str
    thought: Mapping[str, JsonValue] | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)


_SIGNATURE: Final = "s" * 400
_THOUGHT: Final = "Which of them comes next? " * 10
_ITEM: Final[dict[str, JsonValue]] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": _SIGNATURE}
_SIGNED: Final[dict[str, JsonValue]] = {"type": "thinking", "thinking": _THOUGHT, "signature": _SIGNATURE}
_THINKING: Final[dict[str, JsonValue]] = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
_DETAIL: Final[dict[str, JsonValue]] = {"type": "reasoning.text", "text": _THOUGHT, "signature": _SIGNATURE}
_CLAUDE: Final = "openrouter/anthropic/claude-sonnet-4.5"  # parts are marked for its cache
ASKED: Final = (
    Asked("OpenAI's chat protocol", Wire.CHAT, "openai/own"),
    Asked("the same with reasoning", Wire.CHAT, "openai/own", {}),
    Asked("OpenRouter with Claude", Wire.CHAT, _CLAUDE),
    Asked("the same with reasoning", Wire.CHAT, _CLAUDE, {"reasoning_details": _DETAIL}),
    Asked("Responses", Wire.RESPONSES, "openai/gpt-5"),
    Asked("the same with reasoning", Wire.RESPONSES, "openai/gpt-5", {"item": _ITEM}),
    Asked("Anthropic's Messages", Wire.ANTHROPIC, "anthropic/claude-sonnet-4-5"),
    Asked("the same with reasoning", Wire.ANTHROPIC, "anthropic/claude-sonnet-4-5", _SIGNED, _THINKING),
    Asked("Gemini", Wire.GEMINI, "gemini/gemini-2.5-pro"),
    Asked("Ollama", Wire.OLLAMA, "ollama_chat/qwen3"),
    Asked("Bedrock's Converse, signed", Wire.BEDROCK, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
    Asked("OpenAI's chat protocol by litellm", Wire.LITELLM, "openai/own"),
)

Ask = Callable[[], Awaitable[None]]


async def measure_wires() -> list[Figure]:
    """Milliseconds of CPU per request with a conversation of MESSAGES messages, which grows by two each time."""
    port = WireRouter(os.environ)
    await port.warm()
    figures = []
    async with canned_server() as url, httpx.AsyncClient(timeout=None) as client:
        for asked in ASKED:
            asks = (partial(_stream, port, request) for request in _growing_session(asked, url))
            took, floor = await _compare(client, url, asked.wire, asks)
            budget = None if asked.wire is Wire.LITELLM else OWN
            part = asked.name.startswith(_PART)
            name = f"  {asked.name}" if part else f"CPU per request of {MESSAGES} messages, {asked.name} (ms)"
            figures.append(Figure(name, took, floor, budget))
        figures.append(await _measure_package(port, client, url))
    await port.close()
    return figures


async def ask_once(wire: Wire, url: str) -> None:
    """Ask on one wire, as a new process does."""
    port = WireRouter(os.environ)
    await _stream(port, next(_growing_session(_first(wire), url)))
    await port.close()


def _first(wire: Wire) -> Asked:
    return next(asked for asked in ASKED if asked.wire is wire)


async def _measure_package(port: WireRouter, client: httpx.AsyncClient, url: str) -> Figure:
    """The call that another implementation of the Responses wire could go through, with the same request."""
    wire = Wire.RESPONSES
    base_url = f"{url}/{wire}"
    await _stream(port, next(_growing_session(_first(wire), url)))
    sent = json.loads((await client.get(f"{url}{LAST}")).content)

    async def ask() -> None:
        async for _ in await package.responses.create(**sent):
            pass

    async with openai.AsyncOpenAI(api_key=_KEY.get_secret_value(), base_url=base_url, max_retries=0) as package:
        took, floor = await _compare(client, url, wire, repeat(ask))
    return Figure("  Responses by the openai package's own call", took, floor)


async def _compare(client: httpx.AsyncClient, url: str, wire: Wire, asks: Iterator[Ask]) -> tuple[float, float]:
    """Medians of rounds in turns: of `asks`, and of plain httpx with the same bytes. Both follow the same request."""
    ours, theirs = [], []
    for number, ask in zip(range(_WARM + _ROUNDS), asks, strict=False):
        await client.get(f"{url}{LAST}")
        took = await _milliseconds(ask)
        sent = (await client.get(f"{url}{LAST}")).content
        plain = await _milliseconds(partial(_plain, client, f"{url}/{wire}", sent))
        if number >= _WARM:
            ours.append(took)
            theirs.append(plain)
    return median(ours), median(theirs)


async def _milliseconds(ask: Ask) -> float:
    began = time.process_time()
    await ask()
    return (time.process_time() - began) * 1000


async def _stream(port: WireRouter, request: ModelRequest) -> None:
    async with aclosing(port.stream(request)) as events:
        async for _ in events:
            pass


async def _plain(client: httpx.AsyncClient, url: str, body: bytes) -> None:
    async with client.stream("POST", url, content=body, headers={"content-type": "application/json"}) as response:
        if url.endswith(Wire.BEDROCK):
            await _read_frames(response)
            return
        async for line in response.aiter_lines():
            data = line.removeprefix("data: ")
            if data and data != "[DONE]" and not data.startswith("event: "):
                json.loads(data)


async def _read_frames(response: httpx.Response) -> None:
    """By botocore, as AWS's own client reads them."""
    frames = EventStreamBuffer()
    async for received in response.aiter_bytes():
        frames.add_data(received)
        for frame in frames:
            json.loads(frame.payload)


def _growing_session(asked: Asked, url: str) -> Iterator[ModelRequest]:
    """The requests of one session's steps."""
    keyed = {"aws": _AWS} if asked.wire is Wire.BEDROCK else {"key": _KEY}
    endpoint = Endpoint(model=asked.model, base_url=f"{url}/{asked.wire}", wire=asked.wire, **keyed)
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
    tools = tuple(ToolOffer(name=f"tool{n}", description="d" * 1000, parameters=schema) for n in range(10))
    thoughts = () if asked.thought is None else (_reasoning(asked.thought),)
    encoder = MessageEncoder()
    messages: list[InputMessage] = [SystemInput(content="s" * 5000), UserInput(content="Read them all.")]
    for step in count():
        call = RequestedCall(id=f"call_{step}", name="tool1", arguments=json.dumps({"path": f"{step}.txt"}))
        messages.append(AssistantInput(parts=(*thoughts, TextPart(text="Reading on."), call)))
        messages.append(ToolResultInput(call=call.id, content=_RESULT))
        if len(messages) >= MESSAGES:
            yield ModelRequest(
                endpoint=endpoint, messages=tuple(messages), tools=tools, encoder=encoder, options=asked.options
            )


def _reasoning(details: Mapping[str, JsonValue]) -> ReasoningPart:
    return ReasoningPart(text=_THOUGHT, details=(dict(details),) if details else ())


@asynccontextmanager
async def canned_server() -> AsyncIterator[str]:
    """The canned answers' server, a process of its own: its CPU time is not ours."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "bench.canned_answers"),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()
