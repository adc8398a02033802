"""The wire to Anthropic, against a double that checks as the service does."""

import json
from typing import Any

import pytest

from activities.model.failures import ModelError, Overflow, Retry, Stop, classify
from activities.model.port import (
    AssistantInput,
    Finish,
    ImagePiece,
    InputMessage,
    ModelRequest,
    SystemInput,
    TextPiece,
    ToolResultInput,
    UserInput,
    Wire,
)
from activities.model.wires.router import WireRouter
from tests.providers.anthropic_messages import KEY, OVERLOADED, Answer, Anthropic, Call, Text, Thought
from tests.providers.double_requests import GO, collect_answer
from tests.providers.double_requests import request as asking
from tests.providers.provider_double import Disconnect, serve_double
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import Tokens

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
READS = Answer((Thought("First the file."), Text("I read it."), Call("read", '{"path": "a"}')))


def request(
    service: Anthropic, messages: tuple[InputMessage, ...] = GO, model: str = "claude-sonnet-4-5", **more: Any
) -> ModelRequest:
    return asking(Wire.ANTHROPIC, f"anthropic/{model}", service.double.url, KEY, messages, **more)


async def test_an_answer_arrives_whole_and_its_thoughts_go_back_unchanged(port: WireRouter) -> None:
    service = Anthropic(READS, Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service, options=THINKING))
        thought, said, call = first.parts
        assert isinstance(thought, ReasoningPart) and isinstance(call, RequestedCall)
        assert (thought.text, said) == ("First the file.", TextPart(text="I read it."))
        again = AssistantInput(
            content="I read it.",
            reasoning=thought.text,
            details=thought.details,
            calls=(RequestedCall(id=call.id, name=call.name, arguments=call.arguments),),
        )
        picture = UserInput(content=(TextPiece(text="It shows:"), ImagePiece(url="data:image/png;base64,AAAA")))
        talk = (SystemInput(content="Be brief."), *GO, again, ToolResultInput(call=call.id, content="x"), picture)
        last = await collect_answer(port, request(service, talk, options=THINKING))

    assert first.finish is Finish.TOOL_CALLS
    assert first.tokens == Tokens(total=125, input=10, output=15, cache_read=80, cache_write=20)
    assert last.parts == (TextPart(text="Done."),)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "glm-5"])
async def test_the_prefix_is_marked_to_be_cached_for_each_model(port: WireRouter, model: str) -> None:
    service = Anthropic(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        await collect_answer(port, request(service, (SystemInput(content="Be brief."), *GO), model))

    body = service.double.asked[0]
    assert body["system"][-1]["cache_control"] == body["messages"][-1]["content"][-1]["cache_control"]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("refusal", Finish.CONTENT_FILTER),
        ("pause_turn", Finish.UNKNOWN),
        ("of next year", Finish.UNKNOWN),
    ],
)
async def test_the_end_is_that_of_the_service(port: WireRouter, reason: str, finish: Finish) -> None:
    service = Anthropic(Answer((Text("Hi"),), stop_reason=reason))
    async with serve_double(service.double):
        assert (await collect_answer(port, request(service))).finish is finish


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Answer((Text("Hi"),), stop_reason="model_context_window_exceeded"), Overflow),
        (Answer((Text("Hi"), Disconnect())), Retry),
        (Answer((Text("Hi"), Disconnect(clean=False))), Retry),
        (Answer((Text("Hi"), OVERLOADED)), Retry),
        (Answer((Text("Hi"), b"data: {broken\n\n")), Retry),
    ],
)
async def test_a_failing_answer_is_classified(
    port: WireRouter, said: Answer, expected: type[Retry] | type[Overflow]
) -> None:
    service = Anthropic(said)
    async with serve_double(service.double):
        with pytest.raises(ModelError) as caught:
            await collect_answer(port, request(service))
    assert type(classify(caught.value.failure)) is expected


async def test_a_piece_that_fits_nothing_counts_as_of_an_answer_that_had_begun(port: WireRouter) -> None:
    stray = {"type": "content_block_delta", "index": 7, "delta": {"type": "thinking_delta", "thinking": "Hm."}}
    service = Anthropic(Answer((b"data: " + json.dumps(stray).encode() + b"\n\n",)))
    async with serve_double(service.double):
        with pytest.raises(ModelError, match="no piece of an answer") as caught:
            await collect_answer(port, request(service))
    assert caught.value.failure.begun


async def test_a_refusal_keeps_the_words_of_the_service(port: WireRouter) -> None:
    orphan = (*GO, ToolResultInput(call="toolu_9", content="x"))
    service = Anthropic(READS)
    async with serve_double(service.double):
        with pytest.raises(ModelError, match="unexpected `tool_use_id` found") as caught:
            await collect_answer(port, request(service, orphan))
    assert isinstance(classify(caught.value.failure), Stop)
