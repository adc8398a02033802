"""Each server that speaks OpenAI's chat protocol only nearly is understood, and gets its reasoning back as it came."""

import json
from typing import Any, Final

import pytest
from openai import AsyncOpenAI

from activities.model.endpoint import Wire
from activities.model.port import AssistantInput, ToolResultInput, UserInput
from activities.model.stream import Answer as Assembled
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import collect_answer, request
from tests.providers.openai_chat import KEY, Answer, Call, Text, Thought
from tests.providers.provider_double import serve_double
from tests.providers.raw_requests import refusal
from tests.providers.sloppy_chat import BLOCKS, DETAILS, SERVERS, THINK, Server, SloppyChat
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart

READ: Final = '{"path": "世"}'
BEGIN: Final = (Thought("Look first."), Text("Both:"), Call("read", READ))
READS: Final = Answer((*BEGIN, Call("read", "{}"), Call("ls", "{}")))
DONE: Final = Answer((Text("Done."),))
GO: Final = UserInput(content="go")
PATH: Final = "/v1/chat/completions"
each_server = pytest.mark.parametrize("server", SERVERS, ids=[server.name for server in SERVERS])


def reads(server: Server) -> Answer:
    """An answer with calls: with one, where the protocol has no more."""
    return Answer(BEGIN) if server.calls == "function_call" else READS


async def ask(port: WireRouter, service: SloppyChat, *more: Any) -> Assembled:
    url = f"{service.double.url}/v1"
    return await collect_answer(port, request(Wire.CHAT, f"openai/{service.server.model}", url, KEY, (GO, *more)))


@each_server
async def test_its_answer_is_understood(port: WireRouter, server: Server) -> None:
    service = SloppyChat(server, reads(server))
    async with serve_double(service.double):
        for service.double.split in (None, 1):
            answer = await ask(port, service)
            texts = [part.text.strip() for part in answer.parts if isinstance(part, TextPart)]
            thoughts = [part.text for part in answer.parts if isinstance(part, ReasoningPart)]
            calls = [(call.name, json.loads(call.arguments or "{}")) for call in answer.calls]
            assert (texts, "".join(thoughts)) == (["Both:"], "Look first." if server.reasoning else "")
            expected = [("read", {"path": "世"}), ("read", {}), ("ls", {})]
            assert calls == expected[: 1 if server.calls == "function_call" else 3]
            assert len({call.id for call in answer.calls}) == len(calls)


@each_server
async def test_its_tokens_are_counted(port: WireRouter, server: Server) -> None:
    service = SloppyChat(server, reads(server))
    async with serve_double(service.double):
        tokens = (await ask(port, service)).tokens

    assert tokens.reported is (server.usage != "none")
    if tokens.reported:
        assert (tokens.prompt, tokens.output + tokens.reasoning, tokens.total) == (100, 30, 130)
        known = json.dumps(server.counts) if server.counts else "cached"
        assert tokens.cache_read == (60 if "cache" in known.replace("cache_n", "") else 0)


@each_server
async def test_its_reasoning_goes_back_as_it_came(port: WireRouter, server: Server) -> None:
    """And the results of its calls name them."""
    service = SloppyChat(server, reads(server), DONE)
    async with serve_double(service.double):
        first = await ask(port, service)
        results = [ToolResultInput(call=call.id, content="x") for call in first.calls]
        second = await ask(port, service, AssistantInput(parts=first.parts), *results)

    assert second.parts == (TextPart(text="Done."),)
    _, sent, *results_sent = service.double.asked[1]["messages"]
    assert [call["id"] for call in sent["tool_calls"]] == [result["tool_call_id"] for result in results_sent]
    assert len({result["tool_call_id"] for result in results_sent}) == len(first.calls)
    match server.reasoning:
        case reasoning if reasoning == THINK:
            assert sent["content"].startswith("<think>Look first.</think>")
        case reasoning if reasoning == DETAILS:
            assert [(piece["type"], piece["text"]) for piece in sent[DETAILS]] == [("reasoning.text", "Look first.")]
        case reasoning if reasoning == BLOCKS:
            assert [(block["thinking"], bool(block["signature"])) for block in sent[BLOCKS]] == [("Look first.", True)]
        case member if member:
            assert sent[member] == "Look first."


@each_server
async def test_a_call_of_another_model_is_taken(port: WireRouter, server: Server) -> None:
    service = SloppyChat(server, DONE)
    foreign = AssistantInput(parts=(RequestedCall(id="toolu_1", name="read", arguments="{}"),))
    async with serve_double(service.double):
        answer = await ask(port, service, foreign, ToolResultInput(call="toolu_1", content="x"))

    assert answer.parts == (TextPart(text="Done."),)


@each_server
async def test_openais_client_reads_each_stream(server: Server) -> None:
    service = SloppyChat(server, reads(server))
    async with (
        serve_double(service.double),
        AsyncOpenAI(api_key=KEY, base_url=f"{service.double.url}/v1", max_retries=0) as client,
    ):
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": True}
        chunks = [chunk async for chunk in await client.chat.completions.create(**asked)]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas).endswith("Both:")
    functions = [call.function for delta in deltas for call in delta.tool_calls or ()]
    functions = functions or [delta.function_call for delta in deltas if delta.function_call]
    assert [function.name for function in functions if function and function.name][0] == "read"


def test_every_source_is_named() -> None:
    assert all(server.source and server.believed == ("believed" in server.source) for server in SERVERS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("DeepSeek", "must be passed back"),
        ("Moonshot", "must be passed back"),
        ("Gemini", "missing a thought_signature"),
    ],
)
async def test_calls_without_what_stood_with_them_are_refused(name: str, words: str) -> None:
    (server,) = [server for server in SERVERS if server.name == name]
    service = SloppyChat(server, READS)
    prompt, headers = {"role": "user", "content": "go"}, {"authorization": f"Bearer {KEY}"}
    await refusal(service.double, PATH, {"model": "m", "messages": [prompt]}, headers)
    id = next(iter(service.signed), "call_1")
    call = {"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": id, "content": "x"}
    messages = [prompt, {"role": "assistant", "tool_calls": [call]}, result]

    status, text = await refusal(service.double, PATH, {"model": "m", "messages": messages}, headers)

    assert (status, words in text) == (400, True)


async def test_a_role_that_no_template_knows_is_refused() -> None:
    body = {"model": "m", "messages": [{"role": "developer", "content": "go"}]}

    status, text = await refusal(SloppyChat(SERVERS[0], READS).double, PATH, body, {"authorization": f"Bearer {KEY}"})

    assert (status, "developer" in text) == (400, True)
