"""The double of OpenRouter is as OpenRouter's own client expects it, and refuses what the service refuses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from openrouter import OpenRouter as Client
from openrouter.components import ChatStreamChunk
from openrouter.errors import OpenRouterError

from tests.providers.double_outputs import Answer, Call, Text, Thought
from tests.providers.openrouter_chat import KEY, MODELS, RULES, OpenRouter, error_chunk, merged
from tests.providers.provider_double import serve_double
from tests.providers.raw_requests import refusal

EVERYTHING: Final = Answer((Thought("Zuerst."), Text("Grün: ✅"), Call("read", '{"path": "a"}'), Call("ls")))
PATH: Final = "/api/v1/chat/completions"
HI: Final = {"role": "user", "content": "Hi"}
CLAUDE, GPT, GEMINI, GLM = MODELS


@asynccontextmanager
async def client(service: OpenRouter) -> AsyncIterator[Client]:
    async with serve_double(service.double), Client(api_key=KEY, server_url=f"{service.double.url}/api/v1") as client:
        yield client


async def played(service: OpenRouter, model: str = CLAUDE, **more: Any) -> list[ChatStreamChunk]:
    asked: Any = {"model": model, "messages": [HI], "stream": True, **more}
    async with client(service) as api, await api.chat.send_async(**asked) as stream:
        return [chunk async for chunk in stream]


@pytest.mark.parametrize("model", MODELS)
async def test_openrouters_client_understands_every_stream(model: str) -> None:
    chunks = await played(OpenRouter(EVERYTHING), model)

    deltas = [chunk.choices[0].delta for chunk in chunks]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    functions = [call.function for call in calls if call.function]
    assert "".join(delta.reasoning or "" for delta in deltas) == "Zuerst."
    assert "".join(delta.content or "" for delta in deltas) == "Grün: ✅"
    assert [function.name for function in functions if function.name] == ["read", "ls"]
    assert "".join(function.arguments or "" for function in functions) == '{"path": "a"}{}'
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage is not None and chunks[-1].usage.cost == 0.001174


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        (CLAUDE, ["reasoning.text"]),
        (GPT, ["reasoning.summary", "reasoning.encrypted"]),
        (GEMINI, ["reasoning.text", "reasoning.encrypted"]),
        (GLM, ["reasoning.text"]),
    ],
)
async def test_reasoning_has_the_form_of_the_models_company(model: str, kinds: list[str]) -> None:
    service = OpenRouter(EVERYTHING)
    chunks = await played(service, model)

    pieces = [piece for chunk in chunks for piece in chunk.choices[0].delta.reasoning_details or ()]
    assert not any(getattr(piece, "is_unknown", False) for piece in pieces)
    assert [piece["type"] for piece in merged([piece.model_dump(by_alias=True) for piece in pieces])] == kinds
    assert [*service.sent.values()] == [merged([piece.model_dump(by_alias=True) for piece in pieces])]


async def test_openrouters_client_understands_an_error_in_the_middle() -> None:
    answer = Answer((Text("Half an"), error_chunk(502, "Provider disconnected")))
    (failed,) = [chunk for chunk in await played(OpenRouter(answer)) if chunk.error]
    assert failed.error is not None and failed.error.message == "Provider disconnected"
    assert failed.choices[0].finish_reason == "error"


async def test_openrouters_client_reports_a_refusal() -> None:
    with pytest.raises(OpenRouterError, match="is not a valid model ID") as caught:
        await played(OpenRouter(EVERYTHING), "anthropic/claude-9")
    assert caught.value.status_code == 400


def called(details: Any = None, result: str = "call_1", **more: Any) -> list[dict[str, Any]]:
    """A conversation with a call of the double's first answer."""
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    answered = {"role": "assistant", "content": None, "tool_calls": [call], **more}
    if details is not None:
        answered["reasoning_details"] = details
    return [HI, answered, {"role": "tool", "tool_call_id": result, "content": "x"}]


def marked(mark: Any, times: int = 1) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": mark}] * times}]


EPHEMERAL: Final = {"type": "ephemeral"}
SIGNED: Final = {
    "type": "reasoning.text",
    "text": "Look.",
    "signature": "secret-2",
    "format": "anthropic-claude-v1",
    "index": 0,
}
UNSIGNED: Final = [{"type": "reasoning.text", "text": text, "index": 0} for text in ("Lo", "ok.")]
THINKS: Final = {"reasoning": {"max_tokens": 2048}}
WRONG: Final[dict[str, dict[str, Any]]] = {
    "address": {},
    "key": {},
    "model": {"model": "anthropic/claude-9"},
    "type": {"messages": [{"role": "user", "content": 7}]},
    "cache control": {"messages": marked({"type": "permanent"})},
    "marks": {"messages": marked(EPHEMERAL, 5)},
    "unanswered": {"messages": called()[:-1]},
    "no call": {"messages": called(result="call_9")},
    "missing": {"messages": called(), **THINKS},
    "changed": {"messages": called([{**SIGNED, "text": "Other."}])},
    "signature": {"messages": called(reasoning="Hm.")},
    "fragments": {"messages": called(UNSIGNED)},
    "thought signature": {"messages": called(), "model": GEMINI},
}


@pytest.mark.parametrize("rule", RULES)
async def test_what_the_service_refuses_is_refused(rule: str) -> None:
    service = OpenRouter(Answer((Thought("Look."), Call("read"))))
    body = {"model": CLAUDE, "messages": [HI], "stream": True, **WRONG[rule]}
    await played(service, body["model"] if rule != "model" else CLAUDE)
    headers = {"authorization": "Bearer other" if rule == "key" else f"Bearer {KEY}"}

    status, text = await refusal(service.double, "/v1/chat" if rule == "address" else PATH, body, headers)

    error = json.loads(text)["error"]
    told = json.loads(error["metadata"]["raw"])["error"]["message"] if "metadata" in error else error["message"]
    assert status == error["code"] == {"address": 404, "key": 401}.get(rule, 400)
    assert RULES[rule].words.partition("{}")[0] in told


@pytest.mark.parametrize(
    "right",
    [
        {"messages": called([SIGNED]), **THINKS},
        {"messages": called([SIGNED], reasoning="Look."), **THINKS},
        {"messages": called()},
        {"messages": marked({**EPHEMERAL, "ttl": "1h"}, 4)},
        {"messages": [HI], "unheard_of": True},
        {"messages": [{"role": "developer", "content": "Be brief."}, HI]},
    ],
)
async def test_what_the_service_takes_is_taken(right: dict[str, Any]) -> None:
    service = OpenRouter(Answer((Thought("Look."), Call("read"))))
    await played(service)

    status, _ = await refusal(
        service.double, PATH, {"model": CLAUDE, "stream": True, **right}, {"authorization": f"Bearer {KEY}"}
    )

    assert status == 200


def test_every_rule_has_its_wrong_request() -> None:
    assert WRONG.keys() == RULES.keys()
