"""Requests of a long session on each wire, to a server with canned answers. Loads what a worker loads, and no more."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from pydantic import JsonValue, SecretStr

from activities.model.encoded_messages import MessageEncoder
from activities.model.endpoint import AwsSignIn, Endpoint, Wire
from activities.model.port import AssistantInput, InputMessage, ModelRequest, SystemInput, ToolResultInput, UserInput
from activities.model.wires.router import WireRouter
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer

MESSAGES: Final = 400
KEY: Final = SecretStr("key")
ROOT: Final = Path(__file__).resolve().parent.parent
_AWS: Final = AwsSignIn(region="us-east-1", access_key="key", secret_key=KEY)
_RESULT: Final = "u" * 1000
_SIGNATURE: Final = "s" * 400
_THOUGHT: Final = "Which of them comes next? " * 10
_ITEM: Final[dict[str, JsonValue]] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": _SIGNATURE}
_SIGNED: Final[dict[str, JsonValue]] = {"type": "thinking", "thinking": _THOUGHT, "signature": _SIGNATURE}
_THINKING: Final[dict[str, JsonValue]] = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
_DETAIL: Final[dict[str, JsonValue]] = {"type": "reasoning.text", "text": _THOUGHT, "signature": _SIGNATURE}
_CLAUDE: Final = "openrouter/anthropic/claude-sonnet-4.5"  # parts are marked for its cache


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


async def ask_once(wire: Wire, url: str) -> None:
    """Ask on one wire, as a new process does."""
    port = WireRouter(os.environ)
    await stream_answer(port, next(growing_session(first_asked(wire), url)))
    await port.close()


def first_asked(wire: Wire) -> Asked:
    return next(asked for asked in ASKED if asked.wire is wire)


async def stream_answer(port: WireRouter, request: ModelRequest) -> None:
    async with aclosing(port.stream(request)) as events:
        async for _ in events:
            pass


def growing_session(asked: Asked, url: str) -> Iterator[ModelRequest]:
    """The requests of one session's steps."""
    keyed = {"aws": _AWS} if asked.wire is Wire.BEDROCK else {"key": KEY}
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
