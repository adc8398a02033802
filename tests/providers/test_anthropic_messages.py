"""The wire to Anthropic, against a double that checks as the service does."""

import json
from typing import Any

import pytest

from activities.model.failures import ModelError, Overflow, Retry, Stop, posture
from activities.model.port import (
    AssistantMessage,
    Finish,
    ImagePiece,
    Message,
    ModelRequest,
    RequestedCall,
    SystemMessage,
    TextPiece,
    ToolMessage,
    UserMessage,
    Wire,
)
from activities.model.stream import CallPart, ReasoningPart, TextPart
from activities.model.wires.router import WireRouter
from tests.providers.anthropic_messages import KEY, OVERLOADED, Answer, Anthropic, Call, Text, Thought
from tests.providers.asking import GO, answered
from tests.providers.asking import request as asking
from tests.providers.playing import Cut, playing
from workflows.domain.usage import Tokens

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
READS = Answer((Thought("First the file."), Text("I read it."), Call("read", '{"path": "a"}')))


def request(
    service: Anthropic, messages: tuple[Message, ...] = GO, model: str = "claude-sonnet-4-5", **more: Any
) -> ModelRequest:
    return asking(Wire.ANTHROPIC, f"anthropic/{model}", service.double.url, KEY, messages, **more)


async def test_an_answer_arrives_whole_and_its_thoughts_go_back_unchanged(port: WireRouter) -> None:
    service = Anthropic(READS, Answer((Text("Done."),)))
    async with playing(service.double):
        first = await answered(port, request(service, options=THINKING))
        thought, said, call = first.parts
        assert isinstance(thought, ReasoningPart) and isinstance(call, CallPart)
        assert (thought.text, said) == ("First the file.", TextPart("I read it."))
        again = AssistantMessage(
            content="I read it.",
            reasoning=thought.text,
            details=thought.details,
            calls=(RequestedCall(id=call.id, name=call.name, arguments=call.arguments),),
        )
        picture = UserMessage(content=(TextPiece(text="It shows:"), ImagePiece(url="data:image/png;base64,AAAA")))
        talk = (SystemMessage(content="Be brief."), *GO, again, ToolMessage(call=call.id, content="x"), picture)
        last = await answered(port, request(service, talk, options=THINKING))

    assert first.finish is Finish.TOOL_CALLS
    assert first.tokens == Tokens(total=125, input=10, output=15, cache_read=80, cache_write=20)
    assert last.parts == (TextPart("Done."),)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "glm-5"])
async def test_the_prefix_is_marked_to_be_cached_whatever_the_model(port: WireRouter, model: str) -> None:
    service = Anthropic(Answer((Text("Hi"),)))
    async with playing(service.double):
        await answered(port, request(service, (SystemMessage(content="Be brief."), *GO), model))

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
async def test_the_end_is_what_the_service_said(port: WireRouter, reason: str, finish: Finish) -> None:
    service = Anthropic(Answer((Text("Hi"),), stop_reason=reason))
    async with playing(service.double):
        assert (await answered(port, request(service))).finish is finish


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Answer((Text("Hi"),), stop_reason="model_context_window_exceeded"), Overflow),
        (Answer((Text("Hi"), Cut())), Retry),
        (Answer((Text("Hi"), Cut(clean=False))), Retry),
        (Answer((Text("Hi"), OVERLOADED)), Retry),
        (Answer((Text("Hi"), b"data: {broken\n\n")), Retry),
    ],
)
async def test_an_answer_that_fails_is_told_for_what_it_is(
    port: WireRouter, said: Answer, expected: type[Retry] | type[Overflow]
) -> None:
    service = Anthropic(said)
    async with playing(service.double):
        with pytest.raises(ModelError) as caught:
            await answered(port, request(service))
    assert type(posture(caught.value.failure)) is expected


async def test_a_piece_that_fits_nothing_counts_as_of_an_answer_that_had_begun(port: WireRouter) -> None:
    stray = {"type": "content_block_delta", "index": 7, "delta": {"type": "thinking_delta", "thinking": "Hm."}}
    service = Anthropic(Answer((b"data: " + json.dumps(stray).encode() + b"\n\n",)))
    async with playing(service.double):
        with pytest.raises(ModelError, match="no piece of an answer") as caught:
            await answered(port, request(service))
    assert caught.value.failure.begun


async def test_what_the_service_refuses_is_told_in_its_words(port: WireRouter) -> None:
    orphan = (*GO, ToolMessage(call="toolu_9", content="x"))
    service = Anthropic(READS)
    async with playing(service.double):
        with pytest.raises(ModelError, match="unexpected `tool_use_id` found") as caught:
            await answered(port, request(service, orphan))
    assert isinstance(posture(caught.value.failure), Stop)
