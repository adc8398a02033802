"""What goes back to an endpoint, and thinking of Anthropic's protocol through litellm."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from pydantic import JsonValue, SecretStr

from activities.model.chat_dialects import dialect_of
from activities.model.chat_format import build_message
from activities.model.endpoint import Endpoint, Wire
from activities.model.failures import FailureAction, Overflow, Retry, Stop, classify
from activities.model.port import (
    AssistantInput,
    Finish,
    InputMessage,
    ModelRequest,
    SystemInput,
    ToolResultInput,
    UserInput,
)
from activities.model.stream import Answer, AnswerAssembler
from activities.model.wires.chat import ChatReader
from activities.model.wires.router import WireRouter
from workflows.domain.errors import ModelError
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Tokens

pytestmark = [  # litellm ignores both, in filters that pytest replaces
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
]

THINKING: dict[str, JsonValue] = {"type": "thinking", "thinking": "First the file.", "signature": "sig=="}
TOOL = ToolOffer(name="read", description="Read a file", parameters={"type": "object", "properties": {}})


async def test_thinking_is_kept_with_its_signature_and_cached_tokens_are_counted(adapter: WireRouter) -> None:
    async with anthropic() as server:
        answer = await asked(adapter, server, (UserInput(content="go"),))

    assert answer.parts == (
        ReasoningPart(text="First the file.", details=(THINKING,)),
        TextPart(text="I read it."),
        RequestedCall("toolu_1", "read", '{"path": "a"}'),
    )
    assert answer.finish is Finish.TOOL_CALLS
    assert answer.tokens == Tokens(total=125, input=10, output=15, cache_read=80, cache_write=20)


async def test_thinking_is_given_back_unchanged(adapter: WireRouter) -> None:
    call = RequestedCall(id="toolu_1", name="read", arguments='{"path": "a"}')
    thought = ReasoningPart(text="First the file.", details=(THINKING,))
    talk = (
        SystemInput(content="Be brief."),
        UserInput(content="go"),
        AssistantInput(parts=(thought, TextPart(text="I read it."), call)),
        ToolResultInput(call="toolu_1", content="x"),
    )

    async with anthropic() as server:
        await asked(adapter, server, talk)
        body = server.bodies[0]

    assert body["messages"][1]["content"][0] == THINKING


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (529, {"type": "overloaded_error", "message": "Overloaded"}, Retry),
        (429, {"type": "rate_limit_error", "message": "slow down"}, Retry),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 3 tokens > 2 maximum"}, Overflow),
        (401, {"type": "authentication_error", "message": "invalid x-api-key"}, Stop),
    ],
)
async def test_a_refusal_keeps_its_own_words(
    adapter: WireRouter, status: int, error: dict[str, str], expected: type[FailureAction]
) -> None:
    refusal = web.json_response({"type": "error", "error": error}, status=status, headers={"retry-after": "7"})

    async with anthropic(refusal) as server:
        with pytest.raises(ModelError) as caught:
            await asked(adapter, server, (UserInput(content="go"),))

    failure = caught.value.failure
    assert (failure.status, failure.message) == (status, error["message"])
    assert (failure.headers or {})["retry-after"] == "7"
    assert type(classify(failure)) is expected


def returned(*deltas: dict[str, Any]) -> dict[str, Any]:
    """The message that gives an answer of these pieces back to its endpoint."""
    reader, assembly = ChatReader("compatible"), AnswerAssembler()
    for delta in deltas:
        for event in reader.read([{"choices": [{"delta": delta}]}])[0]:
            assembly.add(event)
    reader.read([{"choices": [{"delta": {}, "finish_reason": "stop"}]}])
    assembly.add(reader.finish())
    endpoint = Endpoint(model="openai/m", base_url="http://127.0.0.1:9", wire=Wire.CHAT)
    return build_message(dialect_of(endpoint), AssistantInput(parts=assembly.answer().parts))


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_an_endpoint_gets_its_reasoning_back_under_the_name_that_it_gave_it(name: str) -> None:
    message = returned({name: "First "}, {name: "the file."}, {"content": "I read it."})
    assert message == {"role": "assistant", "content": "I read it.", name: "First the file."}


def test_what_an_endpoint_has_signed_a_call_with_goes_back_at_it() -> None:
    def call(index: int, **more: Any) -> dict[str, Any]:
        return {"index": index, "id": f"c{index}", "function": {"name": "read", "arguments": "{}"}, **more}

    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    calls = returned({"content": "So:"}, {"tool_calls": [call(0, **signed)]}, {"tool_calls": [call(1)]})["tool_calls"]
    assert [each.get("extra_content") for each in calls] == [signed["extra_content"], None]


class Anthropic:
    """An Anthropic endpoint with one fixed answer."""

    def __init__(self, refusal: web.Response | None) -> None:
        self.url = ""
        self.refusal = refusal
        self.bodies: list[dict[str, Any]] = []

    async def messages(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        if self.refusal:
            return self.refusal
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)
        return web.Response(text=text, content_type="text/event-stream")


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


USAGE = {"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 20, "output_tokens": 1}
EVENTS = [
    {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "usage": USAGE}},
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "First "},
        {"type": "thinking_delta", "thinking": "the file."},
        {"type": "signature_delta", "signature": "sig=="},
    ),
    *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I read it."}),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"path": '},
        {"type": "input_json_delta", "partial_json": '"a"}'},
    ),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 15}},
    {"type": "message_stop"},
]


@asynccontextmanager
async def anthropic(refusal: web.Response | None = None) -> AsyncIterator[Anthropic]:
    server = Anthropic(refusal)
    application = web.Application()
    application.router.add_post("/v1/messages", server.messages)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


async def asked(adapter: WireRouter, server: Anthropic, messages: tuple[InputMessage, ...]) -> Answer:
    endpoint = Endpoint(
        model="anthropic/claude-sonnet-4-5", base_url=server.url, key=SecretStr("secret"), wire=Wire.LITELLM
    )
    thinking: dict[str, JsonValue] = {"type": "enabled", "budget_tokens": 1024}
    request = ModelRequest(endpoint=endpoint, messages=messages, tools=(TOOL,), options={"thinking": thinking})
    assembly = AnswerAssembler()
    async for events in adapter.stream(request):
        for event in events:
            assembly.add(event)
    return assembly.answer()
