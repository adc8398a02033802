"""The doubles are checked: their vendors' clients understand what they play, and they refuse what vendors forbid."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import httpx
import pytest
from anthropic import AsyncAnthropic
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google import genai
from google.genai import types
from ollama import AsyncClient as AsyncOllama
from openai import AsyncOpenAI
from pydantic import TypeAdapter

from activities.model.wires.router import WireRouter
from tests.providers.behaviours.anthropic_wire import AnthropicWire
from tests.providers.behaviours.azure_wire import AzureChatWire, AzureResponsesWire
from tests.providers.behaviours.bedrock_wire import BedrockWire
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.compatible_wires import SloppyWire, StrictWire
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.litellm_wire import LitellmWire
from tests.providers.behaviours.mistral_wire import MistralWire
from tests.providers.behaviours.ollama_wire import OllamaWire
from tests.providers.behaviours.openrouter_wire import OpenRouterWire
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.behaviours.rows import ROWS, Rig
from tests.providers.behaviours.script import Answer, Call, End, Text, Thought
from tests.providers.behaviours.table import WIRES
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.botocore_client import converse, joined
from tests.providers.provider_double import serve_double

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")  # Google's
Shown: TypeAlias = Callable[[Any], Any]
_ANTHROPIC: Final = TypeAdapter[Any](MessageCreateParamsStreaming)
CALLS: Final = (Call("read", '{"path": "世"}'), Call("read", ""))
WHOLE: Final = ["Grüße", ("read", {"path": "世"}), ("read", {})]


async def by_anthropic(wire: WireUnderTest) -> tuple[list[Any], str]:
    async with AsyncAnthropic(api_key=wire.key, base_url=wire.double.url, max_retries=0) as client:
        asked: Any = {"model": "claude-opus-5-5", "max_tokens": 4096, "messages": [{"role": "user", "content": "go"}]}
        async with client.messages.stream(**asked) as stream:
            message = await stream.get_final_message()
    shown: dict[str, Shown] = {"text": lambda each: each.text, "tool_use": lambda each: (each.name, each.input)}
    return [shown[block.type](block) for block in message.content if block.type in shown], str(message.stop_reason)


async def by_google(wire: WireUnderTest) -> tuple[list[Any], str]:
    options = types.HttpOptions(base_url=wire.double.url, api_version="v1beta")
    async with genai.Client(api_key=wire.key, http_options=options).aio as client:
        stream = await client.models.generate_content_stream(model=wire.model_name, contents="go")
        candidates = [candidate async for chunk in stream for candidate in chunk.candidates or ()]
    parts = [part for each in candidates if each.content for part in each.content.parts or () if not part.thought]
    calls = [(part.function_call.name, part.function_call.args or {}) for part in parts if part.function_call]
    text = "".join(part.text or "" for part in parts)
    ended = candidates[-1].finish_reason
    return [*([text] if text else []), *calls], ended.value if ended else ""


async def by_openai_responses(wire: WireUnderTest) -> tuple[list[Any], str]:
    async with AsyncOpenAI(api_key=wire.key, base_url=f"{wire.double.url}/v1", max_retries=0) as client:
        stream = await client.responses.create(model=wire.model_name, input="go", stream=True)
        events: list[Any] = [event async for event in stream]
    response = events[-1].response
    shown: dict[str, Shown] = {
        "message": lambda item: item.content[0].text,
        "function_call": lambda item: (item.name, json.loads(item.arguments or "{}")),
    }
    items = [shown[item.type](item) for item in response.output if item.type in shown]
    return items, response.incomplete_details.reason if response.incomplete_details else response.status


async def by_openai_chat(wire: WireUnderTest) -> tuple[list[Any], str]:
    async with AsyncOpenAI(api_key=wire.key, base_url=f"{wire.double.url}/v1", max_retries=0) as client:
        asked: Any = {"model": wire.model_name, "messages": [{"role": "user", "content": "go"}]}
        async with client.chat.completions.stream(**asked) as stream:
            choice = (await stream.get_final_completion()).choices[0]
    calls = [
        (call.function.name, json.loads(call.function.arguments or "{}")) for call in choice.message.tool_calls or ()
    ]
    text = choice.message.content
    return [*([text] if text else []), *calls], choice.finish_reason


async def by_ollama(wire: WireUnderTest) -> tuple[list[Any], str]:
    async with AsyncOllama(host=wire.double.url) as client:
        stream = await client.chat(model=wire.model_name, messages=[{"role": "user", "content": "go"}], stream=True)
        pieces = [piece async for piece in stream]
    calls = [call.function for piece in pieces for call in piece.message.tool_calls or ()]
    text = "".join(piece.message.content or "" for piece in pieces)
    return [text, *((call.name, dict(call.arguments)) for call in calls)], str(pieces[-1].done_reason)


async def by_botocore(wire: WireUnderTest) -> tuple[list[Any], str]:
    events = await asyncio.to_thread(converse, wire.double.url)
    names = {"toolUse.name": lambda block: (block["toolUse.name"], json.loads(block["toolUse.input"] or "{}"))}
    shown: dict[str, Shown] = {"text.text": lambda block: block["text.text"], **names}
    items = [show(block) for block in joined(events).values() for name, show in shown.items() if name in block]
    return items, next(event["messageStop"]["stopReason"] for event in events if "messageStop" in event)


CLIENTS: Final[Mapping[type[WireUnderTest], Callable[[WireUnderTest], Awaitable[tuple[list[Any], str]]]]] = {
    AnthropicWire: by_anthropic,
    GeminiWire: by_google,
    ResponsesWire: by_openai_responses,
    ChatWire: by_openai_chat,
    LitellmWire: by_openai_chat,
    OllamaWire: by_ollama,
    BedrockWire: by_botocore,
}


ELSEWHERE: Final[Mapping[type[WireUnderTest], str]] = {
    AzureChatWire: "test_azure_openai_by_its_sdk.py",
    AzureResponsesWire: "test_azure_openai_by_its_sdk.py",
    OpenRouterWire: "test_openrouter_chat_by_its_sdk.py",
    StrictWire: "test_strict_chat.py",
    SloppyWire: "test_sloppy_servers.py",
    MistralWire: "test_mistral_chat_by_its_sdk.py",
}


def test_the_double_of_every_wire_is_checked() -> None:
    assert {*CLIENTS, *ELSEWHERE} == {*WIRES}
    assert all((Path(__file__).parents[1] / file).exists() for file in ELSEWHERE.values())


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.name)
async def test_its_vendors_client_understands_an_answer(kind: type[WireUnderTest]) -> None:
    wire = kind()
    thought = (Thought("Look."),) if wire.thinks else ()
    wire.play(Answer((*thought, Text("Grüße"), *CALLS)))
    async with serve_double(wire.double):
        assert (await CLIENTS[kind](wire))[0] == WHOLE


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.name)
async def test_its_vendors_client_understands_each_end(kind: type[WireUnderTest]) -> None:
    for end in (End.STOP, End.LENGTH, End.FILTER):
        wire = kind()
        if end in wire.ends and not (
            issubclass(kind, ChatWire) and end is not End.STOP
        ):  # its client raises for both others
            wire.play(Answer((Text("Hi"),), end))
            async with serve_double(wire.double):
                assert (await CLIENTS[kind](wire))[1] == wire.ends[end]


def _anthropic(*blocks: dict[str, Any], user: Any = "go", **more: Any) -> dict[str, Any]:
    answered = [{"role": "assistant", "content": list(blocks)}, {"role": "user", "content": user}] if blocks else []
    first = {"role": "user", "content": "go"}
    tool = {"name": "read", "input_schema": {"type": "object"}}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": [first, *answered], "tools": [tool], **more}
    return {name: value for name, value in body.items() if value is not None}


def _gemini(*parts: dict[str, Any], results: int = 0, name: str = "contents", **more: Any) -> dict[str, Any]:
    response: dict[str, Any] = {"functionResponse": {"id": "a", "name": "read", "response": {}}}
    answered = [{"role": "model", "parts": list(parts)}, {"role": "user", "parts": [response] * results or [_GO]}]
    return {name: [{"role": "user", "parts": [_GO]}, *(answered if parts else [])], **more}


def _responses(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5.3-codex", "input": [{"role": "user", "content": "go"}, *items], "stream": True, **more}


def _chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4.1", "messages": [{"role": "user", "content": "go"}, *messages], "stream": True, **more}


_GO: Final = {"text": "go"}
_USE: Final = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
_RESULT: Final = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
_MARKED: Final = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
_THINKING: Final = {"type": "enabled", "budget_tokens": 2048}
_CALL: Final = {"functionCall": {"id": "a", "name": "read", "args": {}}}
_SKIP: Final = {"thoughtSignature": "skip_thought_signature_validator"}
_CHAT_CALL: Final = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
_PIECE: Final = {"type": "text", "text": "x"}
_ITEM: Final = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}
_OUTPUT: Final = {"type": "function_call_output", "call_id": "a", "output": "x"}

WRONG: Final[list[tuple[type[WireUnderTest], str, dict[str, Any]]]] = [
    (AnthropicWire, "Extra inputs are not permitted", _anthropic(shout=True)),
    (AnthropicWire, "max_tokens: Field required", _anthropic(max_tokens=None)),
    (AnthropicWire, "max_tokens: 64001 > 64000", _anthropic(max_tokens=64_001)),
    (AnthropicWire, "first message must use", _anthropic(messages=[{"role": "assistant", "content": "go"}])),
    (AnthropicWire, "non-whitespace", _anthropic({"type": "text", "text": " "})),
    (AnthropicWire, "without `tool_result`", _anthropic(_USE)),
    (AnthropicWire, "unexpected `tool_use_id`", _anthropic({"type": "text", "text": "x"}, user=[_RESULT])),
    (AnthropicWire, "match pattern", _anthropic({**_USE, "id": "a:0"}, user=[{**_RESULT, "tool_use_id": "a:0"}])),
    (AnthropicWire, "must define tools", _anthropic(_USE, user=[_RESULT], tools=None)),
    (AnthropicWire, "Expected `thinking`", _anthropic(_USE, user=[_RESULT], thinking=_THINKING)),
    (AnthropicWire, "must be greater than", _anthropic(max_tokens=2048, thinking=_THINKING)),
    (AnthropicWire, "may only be set to 1", _anthropic(temperature=0.5, thinking=_THINKING)),
    (AnthropicWire, "adaptive thinking is not supported", _anthropic(thinking={"type": "adaptive"})),
    (AnthropicWire, "not supported for this model", _anthropic(model="claude-opus-5-5", thinking=_THINKING)),
    (AnthropicWire, "sampling parameters", _anthropic(model="claude-opus-5-5", top_p=0.5)),
    (AnthropicWire, "Invalid `signature`", _anthropic({"type": "thinking", "thinking": "x", "signature": "made up"})),
    (AnthropicWire, "maximum of 4 blocks", _anthropic(*[_MARKED] * 5)),
    (GeminiWire, 'Unknown name "shout"', _gemini(shout=True)),
    (GeminiWire, 'Unknown name "type"', _gemini({"type": "text", "text": "x"})),
    (GeminiWire, "number of function response parts", _gemini({**_CALL, **_SKIP}, _CALL, results=1)),
    (GeminiWire, "missing a thought_signature", _gemini(_CALL, results=1)),
    (GeminiWire, "Corrupted thought signature", _gemini({**_CALL, "thoughtSignature": "made up"}, results=1)),
    (ResponsesWire, "Unknown parameter: 'shout'", _responses(shout=True)),
    (ResponsesWire, "No tool output found", _responses(_ITEM)),
    (ResponsesWire, "No tool call found", _responses(_OUTPUT)),
    (ResponsesWire, "string too long", _responses({**_ITEM, "call_id": "a" * 65})),
    (ResponsesWire, "not supported with this model", _responses(temperature=0.5)),
    (ResponsesWire, "not persisted", _responses({"type": "reasoning", "id": "rs_9", "summary": []})),
    (ResponsesWire, "Invalid value: 'image'", _responses({"type": "image"})),
    (ChatWire, "Unrecognized request argument", _chat(shout=True)),
    (ChatWire, "did not have response messages", _chat({"role": "assistant", "tool_calls": [_CHAT_CALL]})),
    (ChatWire, "must be a response", _chat({"role": "tool", "tool_call_id": "a", "content": "x"})),
    (ChatWire, "string too long", _chat({"role": "assistant", "tool_calls": [{**_CHAT_CALL, "id": "a" * 41}]})),
    (ChatWire, "Unknown parameter", _chat({"role": "assistant", "content": "x", "reasoning_content": "x"})),
    (ChatWire, "expected a string, got null", _chat({"role": "assistant", "content": None})),
    (ChatWire, "only allowed when 'tools'", _chat(tool_choice="none")),
    (ChatWire, "Invalid type", _chat({"role": "user", "content": 7})),
    (ChatWire, "[0].cache_control'", _chat({"role": "user", "content": [{**_PIECE, "cache_control": {}}]})),
    (ChatWire, "[0].extra_content'", _chat({"role": "assistant", "tool_calls": [{**_CHAT_CALL, "extra_content": {}}]})),
]


@pytest.mark.parametrize(("kind", "words", "body"), WRONG, ids=[f"{kind.name}: {words}" for kind, words, _ in WRONG])
async def test_what_its_vendor_forbids_is_refused(kind: type[WireUnderTest], words: str, body: dict[str, Any]) -> None:
    wire = kind()
    wire.play(Answer((Text("Hi"),)))
    async with serve_double(wire.double), httpx.AsyncClient() as client:
        refused = await client.post(f"{wire.double.url}{wire.endpoint}", headers=dict(wire.headers), json=body)
    assert refused.status_code in (400, 404) and words in refused.json()["error"]["message"]


def _by_anthropic(body: dict[str, Any]) -> None:
    _exhaust(_ANTHROPIC.validate_python(body))


def _exhaust(value: Any) -> None:
    """Iterables are validated as they are read."""
    if not isinstance(value, str):
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, Iterable) else ():
            _exhaust(inner)


def _by_google(body: dict[str, Any]) -> None:
    for content in body["contents"]:
        types.Content.model_validate(content)
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(body["generationConfig"])
    types.Content.model_validate(body.get("systemInstruction", {}))
    types.ToolConfig.model_validate(body.get("toolConfig", {}))


VALIDATORS: Final[Mapping[type[WireUnderTest], Callable[[dict[str, Any]], object]]] = {
    AnthropicWire: _by_anthropic,
    GeminiWire: _by_google,
}  # the doubles of OpenAI and Bedrock do so with each request
SENT: Final = (
    "reasoning, and its return unchanged",
    "a picture in a prompt",
    "a PDF in a prompt",
    "a picture in a result",
    "a PDF in a result",
    "the last step, without tools",
)


@pytest.mark.parametrize("kind", VALIDATORS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("row", SENT)
async def test_its_vendors_types_hold_what_a_wire_sends(port: WireRouter, kind: type[WireUnderTest], row: str) -> None:
    wire = kind()
    async with serve_double(wire.double):
        await ROWS[row](Rig(port, wire))
    assert wire.double.asked
    for body in wire.double.asked:
        VALIDATORS[kind](body)
