"""The double of Ollama is as Ollama's own client expects it, and refuses what the server refuses."""

import json
from typing import Any, Final

import pytest
from ollama import AsyncClient, ChatResponse, ResponseError

from tests.providers.double_outputs import Answer, Call, Text, Thought
from tests.providers.ollama_chat import RULES, Ollama, error_line
from tests.providers.provider_double import serve_double
from tests.providers.raw_requests import refusal

EVERYTHING: Final = Answer((Thought("Zuerst."), Text("Grün: ✅"), Call("read", '{"path": "a"}'), Call("ls")))
MODEL: Final = "qwen3"
GO: Final = [{"role": "user", "content": "go"}]


async def played(service: Ollama, model: str = MODEL) -> list[ChatResponse]:
    async with serve_double(service.double), AsyncClient(host=service.double.url) as client:
        stream = await client.chat(model=model, messages=GO, stream=True, think=True)
        return [piece async for piece in stream]


@pytest.mark.parametrize("ids", [False, True])
async def test_ollamas_client_understands_every_stream(ids: bool) -> None:
    pieces = await played(Ollama(EVERYTHING, ids=ids))

    messages = [piece.message for piece in pieces]
    assert "".join(message.thinking or "" for message in messages) == "Zuerst."
    assert "".join(message.content or "" for message in messages) == "Grün: ✅"
    calls = [call.function for message in messages for call in message.tool_calls or ()]
    assert [(call.name, call.arguments) for call in calls] == [("read", {"path": "a"}), ("ls", {})]
    assert (pieces[-1].done, pieces[-1].done_reason, pieces[-1].eval_count) == (True, "stop", 30)


async def test_ollamas_client_reports_a_failure_in_the_middle() -> None:
    with pytest.raises(ResponseError, match="the runner has stopped"):
        await played(Ollama(Answer((Text("Half"), error_line("the runner has stopped")))))


async def test_ollamas_client_reports_a_model_that_is_not_there() -> None:
    with pytest.raises(ResponseError, match="model 'llama9' not found") as caught:
        await played(Ollama(EVERYTHING), "llama9")
    assert caught.value.status_code == 404


def message(**changed: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi", **changed}]}


WRONG: Final[dict[str, dict[str, Any]]] = {
    "type": message(content=[{"type": "text", "text": "Hi"}]),
    "arguments": message(role="assistant", tool_calls=[{"function": {"name": "read", "arguments": "{}"}}]),
    "role": message(role="developer"),
    "image": message(images=["data:image/png;base64,AAAA"]),
    "think": {"think": "xhigh"},
    "option": {"options": {"num_ctx": "much"}},
    "window": {**message(content="word " * 4096), "truncate": False},
    "name": {"model": ""},
    "model": {"model": "llama9"},
    "tools": {"model": "gemma", "tools": [{"type": "function", "function": {"name": "read"}}]},
    "thinking": {"model": "gemma", "think": True},
    "vision": message(images=["AAAA"]),
}


@pytest.mark.parametrize("rule", RULES)
async def test_what_the_server_refuses_is_refused(rule: str) -> None:
    body = {"model": MODEL, "messages": GO, **WRONG[rule]}

    status, text = await refusal(Ollama(EVERYTHING).double, "/api/chat", body)

    assert status == {"model": 404, "option": 500}.get(rule, 400)
    assert json.loads(text)["error"].startswith(RULES[rule].words.partition("{}")[0])


async def test_what_the_server_ignores_is_known() -> None:
    service = Ollama(Answer((Text("Hi"),)))

    body = {"model": MODEL, "messages": GO, "tool_choice": "none", "options": {"num_ctx": 4096, "max_tokens": 9}}
    assert (await refusal(service.double, "/api/chat", body))[0] == 200

    assert service.ignored == {"tool_choice", "max_tokens"}


async def test_a_prompt_that_is_too_long_is_cut_in_silence_unless_that_is_forbidden() -> None:
    service = Ollama(Answer((Text("Hi"),)))

    assert (await refusal(service.double, "/api/chat", {"model": MODEL, **message(content="word " * 4096)}))[0] == 200

    assert service.cut == 1


def test_every_rule_has_its_wrong_request() -> None:
    assert WRONG.keys() == RULES.keys()
