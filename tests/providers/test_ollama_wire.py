"""Ollama's wire: what goes out, and what comes of answers that only Ollama gives."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import JsonValue

from activities.credentials.keys import Keys
from activities.model.bound_thoughts import join_entries
from activities.model.endpoint import Wire
from activities.model.endpoints import EndpointResolver
from activities.model.failures import Overflow, Retry, Stop, StopKind, classify
from activities.model.input_messages import convert_entries
from activities.model.model_options import spell
from activities.model.port import FilePiece, Finish, ImagePiece, TextPiece, UserInput
from activities.model.stream import Answer as Received
from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts
from tests.providers.double_conversations import PDF, PNG, answered, prompt, tool_part
from tests.providers.double_outputs import Answer, Call, Text, Thought
from tests.providers.double_requests import GO, collect_answer, request
from tests.providers.ollama_chat import WINDOW, Ollama
from tests.providers.provider_double import RefusedRequest, StreamPause, serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError
from workflows.domain.messages import Outcome, Part, ReasoningPart, RequestedCall, TextPart

MODEL: Final = "ollama_chat/qwen3"
DONE: Final = Answer((Text("Done."),))
LONG: Final = (UserInput(content="word " * WINDOW),)


async def ask(port: WireRouter, service: Ollama, messages: Any = GO, model: str = MODEL, **more: Any) -> Received:
    """Its answer; what it was sent is in the double. `more`: members of `ModelRequest`."""
    async with serve_double(service.double):
        return await collect_answer(port, request(Wire.OLLAMA, model, service.double.url, "k", messages, **more))


async def by_configuration(port: WireRouter, service: Ollama, keys: Path, entry: dict[str, Any]) -> dict[str, Any]:
    """The body of a request as a turn makes it."""
    async with serve_double(service.double):
        provider = {"options": {"baseURL": service.double.url}, "models": {"qwen3": entry}}
        config = Config.model_validate({"provider": {"ollama": provider}})
        model = await EndpointResolver(Keys(keys / "auth.json"), {}, port).resolve("ollama/qwen3", config)
        await collect_answer(port, model.request(GO))
    return service.double.asked[0]


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({}, None),
        ({"limit": {"context": 65_536, "output": 8192}}, 65_536),
        ({"limit": {"context": 65_536, "output": 8192}, "options": {"num_ctx": 16_384}}, 16_384),
    ],
)
async def test_the_window_is_the_configured_one_or_the_servers(
    port: WireRouter, tmp_path: Path, entry: dict[str, Any], window: int | None
) -> None:
    body = await by_configuration(port, Ollama(DONE), tmp_path, entry)

    assert body["options"].get("num_ctx") == window


async def test_a_prompt_that_is_longer_than_the_window_is_never_cut(port: WireRouter) -> None:
    service = Ollama(DONE)
    with pytest.raises(ModelError, match="the input length exceeds the context length") as caught:
        await ask(port, service, LONG)

    assert isinstance(classify(caught.value.failure), Overflow)
    assert service.cut == 0


_LLAMA_CPP: Final = {
    "error": {
        "code": 400,
        "message": "the request exceeds the available context size. try increasing the context size or enable shift",
        "type": "exceed_context_size_error",
    }
}
_MEMORY: Final = "model requires more system memory (5.6 GiB) than is available (3.1 GiB)"
FAILURES: Final[Sequence[tuple[int, str, type[Overflow] | type[Retry] | StopKind, str]]] = [
    (404, "model 'qwen3' not found", StopKind.NOT_FOUND, "`ollama pull`"),
    (404, 'model "qwen3" not found, try pulling it first', StopKind.NOT_FOUND, "`ollama list`"),
    (400, "registry.ollama.ai/library/gemma does not support tools", StopKind.BAD_REQUEST, "`ollama show`"),
    (400, '"gemma" does not support thinking', StopKind.BAD_REQUEST, "take `think` and"),
    (400, "the input length exceeds the context length", Overflow, "OLLAMA_CONTEXT_LENGTH"),
    (400, json.dumps(_LLAMA_CPP), Overflow, "or enable shift: give it a larger window, as `limit.context`"),
    (500, _MEMORY, StopKind.BAD_REQUEST, "a smaller `limit.context`"),
    (500, 'option "num_ctx" must be of type integer', StopKind.BAD_REQUEST, "integer"),
    (500, "this model only supports one image while more than one image requested", StopKind.BAD_REQUEST, "image"),
    (500, "llama runner process has terminated: exit status 2", Retry, "terminated"),
    (503, "server busy, please try again.  maximum pending requests exceeded", Retry, "busy"),
]


@pytest.mark.parametrize(("status", "text", "expected", "shown"), FAILURES)
async def test_a_failure_says_what_to_do_and_is_asked_again_only_if_that_may_help(
    port: WireRouter, status: int, text: str, expected: type[Overflow] | type[Retry] | StopKind, shown: str
) -> None:
    service = Ollama(DONE)

    def refuse(*_: object) -> Any:
        raise RefusedRequest(status, {"error": text})

    service.double.check = refuse
    with pytest.raises(ModelError, match=re.escape(shown)) as caught:
        await ask(port, service)
    action = classify(caught.value.failure)
    assert (action.kind if isinstance(action, Stop) else type(action)) == expected
    assert "{" not in caught.value.failure.message


async def test_a_larger_window_holds_it(port: WireRouter) -> None:
    service = Ollama(DONE)
    assert (await ask(port, service, LONG, context=WINDOW * 8)).parts == (TextPart(text="Done."),)
    assert service.cut == 0


OPTIONS: Final[Sequence[tuple[Mapping[str, JsonValue], dict[str, Any], dict[str, Any]]]] = [
    ({"think": "high"}, {"think": "high"}, {}),
    ({"think": False}, {"think": False}, {}),
    ({"reasoningEffort": "low"}, {"think": "low"}, {}),
    ({"reasoning_effort": "none"}, {"think": False}, {}),
    ({"reasoning_effort": "xhigh"}, {"think": "max"}, {}),
    ({"thinking": {"type": "enabled", "budgetTokens": 9}}, {"think": True}, {}),
    ({"thinking": {"type": "disabled"}}, {"think": False}, {}),
    ({"keepAlive": "30m"}, {"keep_alive": "30m"}, {}),
    ({"keep_alive": -1}, {"keep_alive": -1}, {}),
    ({"topP": 0.9, "topK": 40, "min_p": 0.05}, {}, {"top_p": 0.9, "top_k": 40, "min_p": 0.05}),
    ({"options": {"num_gpu": 1}, "seed": 7}, {}, {"num_gpu": 1, "seed": 7}),
    ({"stop": "END"}, {}, {"stop": ["END"]}),
    ({"max_completion_tokens": 9}, {}, {"num_predict": 9}),
    ({"parallel_tool_calls": False, "user": "me", "logit_bias": {}}, {}, {}),
    ({"truncate": True, "shift": True}, {"truncate": True, "shift": True}, {}),
]


@pytest.mark.parametrize(("options", "top", "inner"), OPTIONS)
async def test_options_go_where_ollama_reads_them(
    port: WireRouter, options: Mapping[str, JsonValue], top: dict[str, Any], inner: dict[str, Any]
) -> None:
    service = Ollama(DONE)
    await ask(port, service, options=spell(options, Wire.OLLAMA), temperature=0.5, max_output=100)

    (body,) = service.double.asked
    plain = {"stream": True, "truncate": False, "shift": False}
    assert {name: body[name] for name in body.keys() - {"model", "messages", "tools", "options"}} == plain | top
    assert body["options"] == {"temperature": 0.5, "num_predict": 100} | inner
    assert service.ignored == set()


@pytest.mark.parametrize("ids", [False, True])
async def test_calls_come_whole_and_have_ids(port: WireRouter, ids: bool) -> None:
    service = Ollama(Answer((Call("ls"), Call("ls"), Call("read", '{"path": "a"}'))), ids=ids)
    answer = await ask(port, service)

    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("ls", "{}"),
        ("ls", "{}"),
        ("read", '{"path": "a"}'),
    ]
    assert len({call.id for call in answer.calls}) == 3
    assert answer.finish is Finish.TOOL_CALLS


async def test_ids_are_never_those_of_an_earlier_answer(port: WireRouter) -> None:
    service = Ollama(Answer((Call("ls"),)))
    first, second = await ask(port, service), await ask(port, service)

    assert first.calls[0].id != second.calls[0].id


async def test_an_answer_goes_back_with_its_thought_and_each_result_with_its_tool(port: WireRouter) -> None:
    calls = [tool_part(RequestedCall(id, name, "{}"), Outcome(output=name)) for id, name in (("1", "ls"), ("2", "pwd"))]
    parts: list[Part] = [ReasoningPart(text="First."), TextPart(text="I look."), *calls]
    transcript = (prompt(), answered(parts, MODEL))
    service = Ollama(DONE)
    await ask(port, service, join_entries("Be brief.", convert_entries(transcript, MODEL)))

    assert service.double.asked[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "I look.",
            "thinking": "First.",
            "tool_calls": [
                {"id": "1", "function": {"name": "ls", "arguments": {}}},
                {"id": "2", "function": {"name": "pwd", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "ls", "tool_name": "ls", "tool_call_id": "1"},
        {"role": "tool", "content": "pwd", "tool_name": "pwd", "tool_call_id": "2"},
    ]


async def test_a_model_is_shown_pictures_and_told_of_documents(port: WireRouter) -> None:
    shown = (TextPiece(text="Look:"), ImagePiece(url=PNG), FilePiece(name="a.pdf", url=PDF))
    service = Ollama(DONE)
    await ask(port, service, (UserInput(content=shown),), model="ollama_chat/llava")

    (sent,) = service.double.asked[0]["messages"]
    assert sent == {
        "role": "user",
        "content": "Look:\n[Not attached: Ollama takes no documents: a.pdf.]",
        "images": [PNG.partition(",")[2]],
    }


async def test_thoughts_come_as_reasoning(port: WireRouter) -> None:
    answer = await ask(port, Ollama(Answer((Thought("Hm."), Text("Hi")))))

    assert answer.parts == (ReasoningPart(text="Hm."), TextPart(text="Hi"))


async def test_loading_a_model_may_take_as_long_as_its_first_piece() -> None:
    """The server sends its headers with that piece."""
    service = Ollama(DONE)
    service.double.before = StreamPause(1)
    port = WireRouter(os.environ, timeouts=StreamTimeouts(headers=0.2, first_byte=200, idle=0.2))
    assert (await ask(port, service)).parts == (TextPart(text="Done."),)
    await port.close()


async def test_collecting_a_call_may_take_as_long_as_the_first_piece() -> None:
    """The server sends nothing while its parser collects a call."""
    service = Ollama(Answer((Thought("I write."), StreamPause(1), Text("Done."))))
    port = WireRouter(os.environ, timeouts=StreamTimeouts(headers=0.2, first_byte=200, idle=0.2))
    assert (await ask(port, service)).parts == (ReasoningPart(text="I write."), TextPart(text="Done."))
    await port.close()


@pytest.mark.parametrize("reason", ["load", "unload", "connection closed"])
async def test_an_end_that_ends_no_answer_is_unknown(port: WireRouter, reason: str) -> None:
    assert (await ask(port, Ollama(Answer((), stop_reason=reason)))).finish is Finish.UNKNOWN
