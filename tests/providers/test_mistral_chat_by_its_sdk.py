"""The double of Mistral is as Mistral's own client expects it, and refuses what the service refuses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from mistralai.client import Mistral as Client
from mistralai.client.errors import MistralError
from mistralai.client.models import CompletionChunk

from tests.providers.double_outputs import Answer, Call, Text, Thought
from tests.providers.mistral_chat import KEY, RULES, Mistral
from tests.providers.provider_double import serve_double
from tests.providers.raw_requests import refusal

EVERYTHING: Final = Answer((Thought("Zuerst."), Text("Grün: ✅"), Call("read", '{"path": "a"}'), Call("ls")))
PATH: Final = "/v1/chat/completions"
MODEL: Final = "mistral-large-latest"
GO: Final[Any] = [{"role": "user", "content": "go"}]


@asynccontextmanager
async def client(service: Mistral) -> AsyncIterator[Client]:
    async with serve_double(service.double), Client(api_key=KEY, server_url=service.double.url) as client:
        yield client


async def played(service: Mistral) -> list[CompletionChunk]:
    async with client(service) as api, await api.chat.stream_async(model=MODEL, messages=GO) as stream:
        return [event.data async for event in stream]


async def test_mistrals_client_understands_every_stream() -> None:
    chunks = await played(Mistral(EVERYTHING))

    deltas = [chunk.choices[0].delta for chunk in chunks]
    contents = [delta.content for delta in deltas if delta.content]
    lists: list[Any] = [chunk for content in contents if isinstance(content, list) for chunk in content]
    thought = "".join(part.text for chunk in lists if chunk.type == "thinking" for part in chunk.thinking)
    text = "".join(chunk.text for chunk in lists if chunk.type == "text")
    text += "".join(content for content in contents if isinstance(content, str))
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert (thought, text) == ("Zuerst.", "Grün: ✅")
    assert [(call.index, call.function.name, call.function.arguments) for call in calls] == [
        (0, "read", '{"path": "a"}'),
        (1, "ls", "{}"),
    ]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["tool_calls"]
    usage = chunks[-1].usage
    assert usage is not None and usage.total_tokens == 130


async def test_mistrals_client_understands_an_answer_without_calls() -> None:
    contents = [chunk.choices[0].delta.content for chunk in await played(Mistral(Answer((Text("Grün"),))))]

    assert [
        content if isinstance(content, str) else str(dict(content[0])["text"]) for content in contents if content
    ] == ["Gr", "ün"]


async def test_mistrals_client_reports_a_refusal() -> None:
    async with client(Mistral(EVERYTHING)) as api:
        with pytest.raises(MistralError, match="Expected last role User or Tool") as caught:
            await api.chat.stream_async(model=MODEL, messages=[*GO, {"role": "assistant", "content": "Hi"}])
    assert caught.value.status_code == 400


HI: Final = {"role": "user", "content": "Hi"}
CALL: Final = {"id": "abcdefgh1", "function": {"name": "read", "arguments": "{}"}}
CALLS: Final = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT: Final = {"role": "tool", "tool_call_id": "abcdefgh1", "content": "x"}


def called(**changed: Any) -> list[dict[str, Any]]:
    return [HI, {**CALLS, "tool_calls": [{**CALL, **changed}]}, RESULT]


WRONG: Final[dict[str, dict[str, Any]]] = {
    "key": {},
    "model": {"model": "mistral-9"},
    "type": {"messages": [{"role": "user", "content": 7}]},
    "member": {"messages": [HI, {"role": "assistant", "content": "Hi", "reasoning_content": "Hm."}, HI]},
    "tool choice": {"tool_choice": "always"},
    "empty": {"messages": []},
    "first": {"messages": [RESULT]},
    "last": {"messages": [HI, {"role": "assistant", "content": "Hi"}]},
    "order": {"messages": [HI, CALLS, RESULT, HI]},
    "results": {"messages": [HI, CALLS, HI]},
    "unexpected result": {"messages": [HI, CALLS, {**RESULT, "tool_call_id": "abcdefgh2"}]},
    "duplicates": {"messages": [HI, {**CALLS, "tool_calls": [CALL, CALL]}, RESULT]},
    "nothing": {"messages": [HI, {"role": "assistant", "content": ""}, HI]},
    "no id": {"messages": [HI, CALLS, RESULT, {"role": "tool", "content": "y"}]},
    "id": {"messages": [HI, {**CALLS, "tool_calls": [{**CALL, "id": "call_1"}]}, {**RESULT, "tool_call_id": "call_1"}]},
    "name": {"messages": called(function={"name": "read file", "arguments": "{}"})},
}


@pytest.mark.parametrize("rule", RULES)
async def test_what_the_service_refuses_is_refused(rule: str) -> None:
    body = {"model": MODEL, "messages": [HI], "stream": True, **WRONG[rule]}
    headers = {"authorization": "Bearer other" if rule == "key" else f"Bearer {KEY}"}

    status, text = await refusal(Mistral(EVERYTHING).double, PATH, body, headers)

    assert status == {"key": 401, "type": 422, "member": 422, "tool choice": 422}.get(rule, 400)
    assert RULES[rule].words.partition("{}")[0] in json.dumps(json.loads(text), ensure_ascii=False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"stream_options": {"include_usage": True}},
        {"max_completion_tokens": 9},
        {"messages": [{**HI, "name": "me"}]},
        {"messages": [{"role": "developer", "content": "Hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]},
        {"tools": [{"type": "function", "function": {"name": "read"}}]},
        {"max_tokens": "many"},
    ],
)
async def test_what_does_not_fit_the_types_is_refused(wrong: dict[str, Any]) -> None:
    body = {"model": MODEL, "messages": [HI], **wrong}

    status, text = await refusal(Mistral(EVERYTHING).double, PATH, body, {"authorization": f"Bearer {KEY}"})

    assert (status, "detail" in json.loads(text)["message"]) == (422, True)


def test_every_rule_has_its_wrong_request() -> None:
    assert WRONG.keys() == RULES.keys()
