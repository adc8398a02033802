"""The adapter, against the scripted model over real HTTP."""

import asyncio
import gc
import os
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import JsonValue, SecretStr

from activities.model.chat_format import build_body
from activities.model.endpoint import Endpoint, Wire
from activities.model.failures import Overflow, Retry, Stop, StopKind, classify
from activities.model.port import (
    AssistantInput,
    Finish,
    InputMessage,
    ModelRequest,
    RequestAccepted,
    SystemInput,
    TextDelta,
    ToolResultInput,
    UserInput,
)
from activities.model.stream import Answer, AnswerAssembler
from activities.model.wires.answer_reader import MAX_ANSWER_CHARS
from activities.model.wires.router import WireRouter
from activities.model.wires.sse import MAX_EVENT_BYTES
from activities.model.wires.timeouts import StreamTimeouts
from tests.polling import WAIT_TIMEOUT
from worker.scripted.model_server import ModelServer, serve
from worker.scripted.request_ledger import StreamEnd
from worker.scripted.script import (
    Drop,
    Garbage,
    Refuse,
    Script,
    ScriptedAnswer,
    ScriptedCall,
    ScriptedFault,
    ScriptedUsage,
    Stall,
    StreamError,
    WebPage,
)
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Tokens

TOOL = ToolOffer(name="read", description="Read a file", parameters={"type": "object", "properties": {}})
pytestmark = [  # litellm ignores both, in filters that pytest replaces
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
]
BOTH_WAYS = pytest.mark.parametrize("compatible", [True, False], ids=["straight", "through litellm"])


@BOTH_WAYS
async def test_an_answer_arrives_whole(adapter: WireRouter, compatible: bool) -> None:
    calls = (ScriptedCall(name="read", arguments={"path": "a" * 40}), ScriptedCall(name="read", arguments="{broken"))
    usage = ScriptedUsage(input=100, output=30, reasoning=10, cached=60)
    said = ScriptedAnswer(text="Hello, world", reasoning="Let me see", tools=calls, usage=usage, interleaved=True)

    async with serve(Script(answers=(said,))) as server:
        answer = await ask(adapter, server, compatible=compatible)

    assert answer.parts == (
        ReasoningPart(text="Let me see"),
        TextPart(text="Hello, world"),
        RequestedCall("call_1_0", "read", '{"path": "' + "a" * 40 + '"}'),
        RequestedCall("call_1_1", "read", "{broken"),
    )
    assert answer.finish is Finish.TOOL_CALLS
    assert answer.tokens == Tokens(total=130, input=40, output=20, reasoning=10, cache_read=60)


@BOTH_WAYS
@pytest.mark.parametrize(("said", "finish"), [("stop", Finish.STOP), ("length", Finish.LENGTH)])
async def test_the_end_becomes_a_finish_reason(
    adapter: WireRouter, compatible: bool, said: str, finish: Finish
) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="x", finish=said),))) as server:
        assert (await ask(adapter, server, compatible=compatible)).finish is finish


@BOTH_WAYS
async def test_a_conversation_with_calls_is_sent_as_providers_want_it(adapter: WireRouter, compatible: bool) -> None:
    script = Script(answers=(ScriptedAnswer(text="unused"), ScriptedAnswer(text="done")))
    conversation: tuple[InputMessage, ...] = (
        SystemInput(content="Be brief."),
        UserInput(content="go"),
        AssistantInput(parts=(RequestedCall(id="a", name="read", arguments="{}"),)),
        ToolResultInput(call="a", content="lone \ud800 and \x00"),
    )

    async with serve(script) as server:
        answer = await ask(adapter, server, conversation, compatible=compatible)

    assert answer.parts == (TextPart(text="done"),)


async def test_what_has_been_sent_before_is_sent_again_as_it_was(adapter: WireRouter) -> None:
    call = RequestedCall(id="a", name="read", arguments='{"path": "é \\ud83d"}')
    begun: tuple[InputMessage, ...] = (SystemInput(content="Be brief: “é”."), UserInput(content="go"))
    went_on = (
        AssistantInput(parts=(ReasoningPart(text="Hm."), call)),
        ToolResultInput(call="a", content="lone \ud800 and \x00"),
    )
    seen = []

    async with serve(Script(answers=(ScriptedAnswer(text="first"), ScriptedAnswer(text="done")))) as server:
        for messages in (begun, (*begun, *went_on), (*begun, *went_on), begun):
            asked = request(server.url, messages)
            await assembled(adapter, asked)
            assert server.last_request is not None
            seen.append((server.last_request.body["messages"], build_body(asked)["messages"]))

    assert all(sent == meant for sent, meant in seen)


async def test_nul_and_lone_surrogates_of_an_answer_are_kept(adapter: WireRouter) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="a\x00\ud800b", chunk=1),))) as server:
        assert (await ask(adapter, server)).parts == (TextPart(text="a\x00\ud800b"),)


async def test_an_answer_that_repeats_itself_is_not_broken_off(adapter: WireRouter) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="-" * 400, chunk=1),))) as server:
        assert (await ask(adapter, server, compatible=False)).parts == (TextPart(text="-" * 400),)


REFUSALS: Mapping[str, tuple[Refuse, type[Retry] | type[Overflow] | StopKind]] = {
    "too many requests": (Refuse(headers={"retry-after": "7"}), Retry),
    "server error": (Refuse(status=500, body="<html>x</html>"), Retry),
    "unavailable": (Refuse(status=503, body={}), Retry),
    "overloaded": (Refuse(status=529, body={"error": {"message": "Overloaded"}}), Retry),
    "wrong key": (Refuse(status=401, body={"error": {"message": "Incorrect API key"}}), StopKind.AUTH),
    "bad request": (Refuse(status=400, body={"error": {"message": "nope"}}), StopKind.BAD_REQUEST),
    "no such model": (
        Refuse(status=404, body={"error": {"message": "x", "code": "model_not_found"}}),
        StopKind.NOT_FOUND,
    ),
    "quota": (Refuse(body={"error": {"message": "used up", "code": "insufficient_quota"}}), StopKind.QUOTA),
    "too long": (Refuse(status=400, body={"error": {"message": "prompt is too long"}}), Overflow),
    "too large": (Refuse(status=413, body={"error": {"message": "no"}}), Overflow),
    "code": (Refuse(status=400, body={"error": {"message": "x", "code": "context_length_exceeded"}}), Overflow),
}


@BOTH_WAYS
@pytest.mark.parametrize(("fault", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refusal_is_classified(
    adapter: WireRouter, compatible: bool, fault: Refuse, expected: type[Retry] | type[Overflow] | StopKind
) -> None:
    action = classify((await failing(adapter, fault, compatible=compatible)).failure)

    assert (action.kind if isinstance(action, Stop) else type(action)) == expected


async def test_a_wrong_address_of_an_own_endpoint_stops_the_turn(adapter: WireRouter) -> None:
    error = await failing(adapter, Refuse(status=404, body={"detail": "no page"}))

    assert classify(error.failure) == Stop(kind=StopKind.NOT_FOUND, message="no page")


async def test_a_refusal_keeps_status_headers_and_the_providers_words(adapter: WireRouter) -> None:
    failure = (await failing(adapter, Refuse(headers={"retry-after": "7"}))).failure

    assert (failure.status, failure.message) == (429, "Rate limit reached")
    assert failure.headers is not None
    assert failure.headers["retry-after"] == "7"


BREAKS: Mapping[str, ScriptedFault] = {
    "dropped before the answer": Drop(),
    "dropped in the middle": Drop(after=2),
    "garbage": Garbage(after=2),
    "error event": StreamError(after=2),
    "no chunk": Garbage(after=2, data="42"),
    "nothing where a chunk should be": Garbage(after=2, data="null"),
    "a chunk of something else": Garbage(
        after=2, data='{"choices": [{"delta": {"content": 7}, "finish_reason": "x"}]}'
    ),
    "an end that is none": Garbage(after=2, data='{"choices": [{"index": 0, "delta": {}, "finish_reason": {"a": 1}}]}'),
    "nothing": WebPage(content_type="text/event-stream", body=""),
    "only an end": WebPage(content_type="text/event-stream", body="data: [DONE]\n\n"),
    "a page in a stream": WebPage(content_type="text/event-stream"),
    "a page": WebPage(),
    "half an event": WebPage(content_type="text/event-stream", body='data: {"choices": [{"delta": {"content": "half'),
    "a document": WebPage(content_type="application/json", body='{"status": "ok"}'),
}


@BOTH_WAYS
@pytest.mark.parametrize("fault", BREAKS.values(), ids=BREAKS.keys())
async def test_a_broken_stream_is_asked_for_again(adapter: WireRouter, compatible: bool, fault: ScriptedFault) -> None:
    error = await failing(adapter, fault, compatible=compatible)

    assert isinstance(classify(error.failure), Retry)


async def test_a_stream_that_just_stops_is_no_answer_through_litellm(adapter: WireRouter) -> None:
    error = await failing(adapter, Garbage(after=2, data="[DONE]"), compatible=False)

    assert "broke off" in error.failure.message
    assert isinstance(classify(error.failure), Retry)


async def test_a_page_where_an_answer_should_be_is_shown_with_what_to_look_at(adapter: WireRouter) -> None:
    failure = (
        await failing(adapter, WebPage(body="<!doctype html>\n<title>Welcome</title>" + "x" * 9_000_000))
    ).failure
    assert "answered with a page (text/html) instead of a stream: check baseURL, 'http://127.0.0.1:" in failure.message
    assert "and that the server streams. The page begins: '<!doctype html> <title>Welcome" in failure.message
    assert len(failure.message) < 500
    action = classify(failure)
    assert isinstance(action, Retry) and action.few


async def test_an_error_with_status_200_is_classified(adapter: WireRouter) -> None:
    body = '{"error": {"message": "used up", "code": "insufficient_quota"}}'
    error = await failing(adapter, WebPage(content_type="application/json", body=body))
    assert classify(error.failure) == Stop(kind=StopKind.QUOTA, message="used up")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Garbage(after=2, data="x" * (MAX_EVENT_BYTES + 100_000)), "a line of more than 8 MB"),
        (
            WebPage(content_type="text/event-stream", body=": a line\n" * 20 + "x" * (MAX_EVENT_BYTES + 100_000)),
            "a line of more",
        ),
    ],
    ids=["event", "page"],
)
async def test_a_line_without_an_end_is_not_read_to_its_end(
    adapter: WireRouter, fault: ScriptedFault, said: str
) -> None:
    error = await failing(adapter, fault)
    assert said in error.failure.message
    assert isinstance(classify(error.failure), Stop)  # asking again would cost the same again


async def test_an_answer_without_an_end_is_not_kept(adapter: WireRouter) -> None:
    endless = ScriptedAnswer(text="x" * (MAX_ANSWER_CHARS + 1), chunk=1_000_000)
    async with serve(Script(answers=(endless,))) as server:
        with pytest.raises(ModelError, match="more than 16,000,000 characters"):
            await ask(adapter, server)


@pytest.mark.parametrize("usage", ['"many"', '{"prompt_tokens": "many"}', '{"total_tokens": 1e99}'])
async def test_counts_that_cannot_be_true_do_not_cost_the_answer(adapter: WireRouter, usage: str) -> None:
    chunk = '{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}'
    end = f'{{"object": "chat.completion.chunk", "choices": [{{"finish_reason": "stop"}}], "usage": {usage}}}'
    stream = WebPage(content_type="text/event-stream", body=f"data: {chunk}\n\ndata: {end}\n\ndata: [DONE]\n\n")
    async with serve(Script(answers=(ScriptedAnswer(faults={1: stream}),))) as server:
        answer = await ask(adapter, server)
    assert (answer.parts, answer.tokens) == ((TextPart(text="Hi"),), Tokens())


CHARGES = {
    "charged": ('"cost": 0.00315', Decimal("0.00315")),
    "perhaps paid elsewhere": ('"cost": 0', None),
    "no amount": ('"cost": null', None),
    "less than nothing": ('"cost": -1', None),
    "nothing said": ('"total_cost": 1', None),
}


@BOTH_WAYS
@pytest.mark.parametrize(("said", "charged"), CHARGES.values(), ids=CHARGES.keys())
async def test_what_a_provider_says_it_charged_is_read(
    adapter: WireRouter, compatible: bool, said: str, charged: Decimal | None
) -> None:
    answer = await charging(adapter, said, compatible=compatible)
    assert (answer.tokens.total, answer.reported_cost) == (12, charged if compatible else None)


CACHES = {
    "OpenAI": ('"prompt_tokens_details": {"cached_tokens": 60}', 60, 0),
    "OpenRouter": ('"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}', 60, 30),
    "DeepSeek": ('"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40', 60, 0),
    "Anthropic behind a proxy": ('"cache_read_input_tokens": 60, "cache_creation_input_tokens": 30', 60, 30),
}


@BOTH_WAYS
@pytest.mark.parametrize(("said", "read", "written"), CACHES.values(), ids=CACHES.keys())
async def test_cached_tokens_are_read_by_each_name(
    adapter: WireRouter, compatible: bool, said: str, read: int, written: int
) -> None:
    usage = f'{{"prompt_tokens": 100, "completion_tokens": 2, {said}}}'

    tokens = (await using(adapter, usage, compatible=compatible)).tokens

    counts = {"input": 100 - read - written, "output": 2, "cache_read": read, "cache_write": written}
    assert tokens == Tokens(total=tokens.total, **counts)


@pytest.mark.parametrize("said", ['"cached_tokens": 60', '"cached_tokens": 60, "prompt_tokens_details": {}'])
async def test_what_moonshot_says_of_its_cache_is_read(adapter: WireRouter, said: str) -> None:
    """Straight only: litellm leaves it out."""
    usage = f'{{"prompt_tokens": 100, "completion_tokens": 2, {said}}}'

    assert (await using(adapter, usage, compatible=True)).tokens == Tokens(input=40, output=2, cache_read=60)


async def test_usage_beside_the_finish_reason_is_read(adapter: WireRouter) -> None:
    usage = '{"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}'
    end = f'{{"choices": [{{"index": 0, "delta": {{"content": "Hi"}}, "finish_reason": "stop", "usage": {usage}}}]}}'
    stream = WebPage(content_type="text/event-stream", body=f"data: {end}\n\ndata: [DONE]\n\n")
    async with serve(Script(answers=(ScriptedAnswer(faults={1: stream}),))) as server:
        answer = await ask(adapter, server)

    assert answer.tokens == Tokens(total=102, input=100, output=2)


async def test_what_is_paid_elsewhere_is_not_what_openrouter_charged(adapter: WireRouter) -> None:
    assert (await charging(adapter, '"cost": 0.0001, "is_byok": true', compatible=True)).reported_cost is None


async def test_a_provider_that_litellm_does_not_know_is_named(adapter: WireRouter) -> None:
    nowhere = ModelRequest(endpoint=Endpoint(model="antropic/claude"), messages=(UserInput(content="Hello?"),))
    with pytest.raises(ModelError, match="litellm knows no provider 'antropic': correct its name") as caught:
        await assembled(adapter, nowhere)
    assert isinstance(classify(caught.value.failure), Stop)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("hosted_vllm/llama", "has no address: give it as provider.hosted_vllm.options.baseURL"),
        ("custom_openai/llama", "has no address"),
        ("ollama_chat/replicate-7b", "litellm sends every model with 'replicate' in its name to replicate"),
        ("text-completion-openai/davinci", "without tools"),
    ],
)
async def test_a_request_that_would_go_to_another_company_is_refused(
    adapter: WireRouter, model: str, message: str
) -> None:
    asked = ModelRequest(endpoint=Endpoint(model=model), messages=(UserInput(content="Hello?"),))
    with pytest.raises(UsageError, match=message):
        await assembled(adapter, asked)


@BOTH_WAYS
async def test_a_refused_connection_is_a_lost_connection(adapter: WireRouter, compatible: bool) -> None:
    async with serve(Script(answers=())) as server:
        gone = server.url

    with pytest.raises(ModelError) as caught:
        await ask(adapter, gone, compatible=compatible)

    assert caught.value.failure.status is None
    assert caught.value.failure.connect_error == "Connection refused"
    assert isinstance(classify(caught.value.failure), Retry)


@BOTH_WAYS
@pytest.mark.parametrize("after", [None, 2])
async def test_a_silent_provider_is_noticed(compatible: bool, after: int | None) -> None:
    impatient = WireRouter(os.environ, timeouts=StreamTimeouts(0.3, 0.3, 0.3))

    error = await failing(impatient, Stall(after=after), compatible=compatible)

    await impatient.close()
    assert error.failure.message == "The provider was silent for 0.3 s."
    assert isinstance(classify(error.failure), Retry)


@BOTH_WAYS
@pytest.mark.parametrize("after", [None, 2])
async def test_a_stop_closes_the_connection(adapter: WireRouter, compatible: bool, after: int | None) -> None:
    script = Script(answers=(ScriptedAnswer(text="x" * 99, faults={1: Stall(after=after)}),))

    async with serve(script) as server:
        asking = asyncio.create_task(ask(adapter, server, compatible=compatible))
        await server.stalled.wait()
        asking.cancel()
        async with asyncio.timeout(WAIT_TIMEOUT):
            entry = await server.ledger.entry(1)

    assert entry.end is StreamEnd.CLIENT_LEFT


async def test_an_abandoned_stream_closes_the_connection(adapter: WireRouter) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="abc", chunk=1, faults={1: Stall(after=2)}),))) as server:
        async with aclosing(adapter.stream(request(server.url))) as stream:
            assert [await anext(stream), await anext(stream)] == [[RequestAccepted()], [TextDelta("a")]]
        async with asyncio.timeout(WAIT_TIMEOUT):
            entry = await server.ledger.entry(1)

    assert entry.end is StreamEnd.CLIENT_LEFT


LONG = (UserInput(content="x" * 2**19),)


@BOTH_WAYS
async def test_an_answered_request_does_not_wait_for_the_collector_of_cycles(
    adapter: WireRouter, compatible: bool
) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="x"),))) as server:
        assert await left_behind(lambda: ask(adapter, server, LONG, compatible=compatible)) < 5 * 2**19


async def test_nor_does_one_whose_answer_breaks_off(adapter: WireRouter) -> None:
    faults = dict.fromkeys(range(1, 20), Drop(after=1))
    async with serve(Script(answers=(ScriptedAnswer(text="x", faults=faults),))) as server:

        async def fail() -> None:
            with pytest.raises(ModelError):
                await ask(adapter, server, LONG)

        assert await left_behind(fail) < 5 * 2**19


async def left_behind(asking: Callable[[], Awaitable[object]]) -> int:
    """How many more bytes there are after ten more requests, without garbage collection."""
    await asking()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(10):
            await asking()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()


@BOTH_WAYS
async def test_a_closed_adapter_opens_new_connections(adapter: WireRouter, compatible: bool) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="Hello"),))) as server:
        first = await ask(adapter, server, compatible=compatible)
        await adapter.close()
        again = await ask(adapter, server, compatible=compatible)

    assert first == again


async def test_options_headers_and_tools_reach_the_provider(adapter: WireRouter, tmp_path: Path) -> None:
    wanted = {"temperature": 0.5, "max_tokens": 9, "reasoning_effort": "low", "tool_choice": "required"}

    async with serve(Script(answers=(ScriptedAnswer(text="x"),))) as server:
        plain = request(server.url)
        endpoint = plain.endpoint.model_copy(update={"headers": {"x-team": "red"}})
        options: dict[str, JsonValue] = {"reasoning_effort": "low"}
        asking = replace(
            plain, endpoint=endpoint, options=options, temperature=0.5, max_output=9, tool_choice="required"
        )
        await assembled(adapter, asking)
        asked = server.last_request

    assert asked is not None
    assert asked.headers["x-team"] == "red"
    assert asked.headers["authorization"] == "Bearer secret"
    assert {name: asked.body[name] for name in wanted} == wanted
    assert asked.body["tools"][0]["function"]["name"] == "read"


async def charging(adapter: WireRouter, said: str, *, compatible: bool) -> Answer:
    """An answer whose usage says this beside its tokens."""
    usage = f'{{"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, {said}}}'
    return await using(adapter, usage, compatible=compatible)


async def using(adapter: WireRouter, usage: str, *, compatible: bool) -> Answer:
    """An answer whose provider reports this usage."""
    chunk = '{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}'
    end = '{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}'
    used = f'{{"object": "chat.completion.chunk", "choices": [], "usage": {usage}}}'
    pieces = "".join(f"data: {piece}\n\n" for piece in (chunk, end, used, "[DONE]"))
    stream = WebPage(content_type="text/event-stream", body=pieces)
    async with serve(Script(answers=(ScriptedAnswer(faults={1: stream}),))) as server:
        return await ask(adapter, server, compatible=compatible)


async def failing(adapter: WireRouter, fault: ScriptedFault, *, compatible: bool = True) -> ModelError:
    """The error of an answer that would succeed at the second request."""
    async with serve(Script(answers=(ScriptedAnswer(text="x" * 99, faults={1: fault}),))) as server:
        with pytest.raises(ModelError) as caught:
            await ask(adapter, server, compatible=compatible)
        assert len(server.ledger.entries) <= 1, "the adapter asked again by itself"
    return caught.value


async def ask(
    adapter: WireRouter,
    server: ModelServer | str,
    messages: tuple[InputMessage, ...] = (UserInput(content="go"),),
    *,
    compatible: bool = True,
) -> Answer:
    url = server if isinstance(server, str) else server.url
    return await assembled(adapter, request(url, messages, compatible=compatible))


async def assembled(adapter: WireRouter, asked: ModelRequest) -> Answer:
    assembly = AnswerAssembler()
    async with aclosing(adapter.stream(asked)) as stream:
        async for events in stream:
            for event in events:
                assembly.add(event)
    return assembly.answer()


def request(
    url: str, messages: tuple[InputMessage, ...] = (UserInput(content="go"),), *, compatible: bool = True
) -> ModelRequest:
    key = SecretStr("secret")
    return ModelRequest(
        endpoint=Endpoint(
            model="openai/scripted", base_url=url, key=key, wire=Wire.CHAT if compatible else Wire.LITELLM
        ),
        messages=messages,
        tools=(TOOL,),
    )
