"""The wire to Gemini, against a double that checks as the service does."""

from typing import Any

import pytest

from activities.model.failures import ModelError, Retry, Stop, posture
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
from activities.model.stream import ReasoningPart, TextPart
from activities.model.wires.router import WireRouter
from tests.providers.asking import GO, answered
from tests.providers.asking import request as asking
from tests.providers.google_gemini import KEY, Answer, Call, Gemini, Text, Thought
from tests.providers.playing import Cut, event, playing
from workflows.domain.usage import Tokens

TWO = Answer((Thought("Look."), Text("I read."), Call("read", {"path": "a"}), Call("read", {"path": "b"})))


def request(
    service: Gemini, messages: tuple[Message, ...] = GO, model: str = "gemini-3.1-pro-preview", **more: Any
) -> ModelRequest:
    return asking(Wire.GEMINI, f"gemini/{model}", f"{service.double.url}/v1beta", KEY, messages, **more)


@pytest.mark.parametrize("model", ["gemini-3.1-pro-preview", "gemini-2.5-pro"])
async def test_an_answer_arrives_whole_and_its_signatures_go_back_unchanged(port: WireRouter, model: str) -> None:
    service = Gemini(TWO, Answer((Text("Done."),)))
    async with playing(service.double):
        first = await answered(port, request(service, model=model))
        calls = tuple(RequestedCall(id=call.id, name=call.name, arguments=call.arguments) for call in first.calls)
        results = tuple(ToolMessage(call=call.id, content="x") for call in calls)
        picture = UserMessage(content=(TextPiece(text="It shows:"), ImagePiece(url="data:image/png;base64,AAAA")))
        said = AssistantMessage(content="I read.", calls=calls)
        talk = (SystemMessage(content="Be brief."), *GO, said, *results, picture)
        last = await answered(port, request(service, talk, model))

    assert first.parts[:2] == (ReasoningPart("Look."), TextPart("I read."))
    assert [call.arguments for call in first.calls] == ['{"path": "a"}', '{"path": "b"}']
    assert first.finish is Finish.TOOL_CALLS
    assert first.tokens == Tokens(total=130, input=40, output=20, reasoning=10, cache_read=60)
    assert last.parts == (TextPart("Done."),)


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        (Answer((Text("Hi"),)), Finish.STOP),
        (Answer((Text("Hi"),), finish="MAX_TOKENS"), Finish.LENGTH),
        (Answer((), finish="SAFETY"), Finish.CONTENT_FILTER),
        (Answer((), finish="RECITATION"), Finish.CONTENT_FILTER),
        (Answer((), blocked="PROHIBITED_CONTENT"), Finish.CONTENT_FILTER),
        (Answer((), finish="MALFORMED_FUNCTION_CALL"), Finish.UNKNOWN),
        (Answer((), finish="UNEXPECTED_TOOL_CALL"), Finish.UNKNOWN),
    ],
)
async def test_the_end_is_what_the_service_said(port: WireRouter, said: Answer, finish: Finish) -> None:
    service = Gemini(said)
    async with playing(service.double):
        assert (await answered(port, request(service))).finish is finish


@pytest.mark.parametrize(
    "said",
    [
        Answer((Text("Half a te"), Cut())),
        Answer((Cut(),)),
        Answer((Text("Hi"), Cut(clean=False))),
        Answer((event({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),)),
    ],
)
async def test_a_cut_answer_is_asked_for_again(port: WireRouter, said: Answer) -> None:
    service = Gemini(said)
    async with playing(service.double):
        with pytest.raises(ModelError) as caught:
            await answered(port, request(service))
    assert isinstance(posture(caught.value.failure), Retry)


async def test_what_the_service_refuses_is_told_in_its_words(port: WireRouter) -> None:
    service = Gemini(TWO)
    async with playing(service.double):
        with pytest.raises(ModelError, match='Unknown name "shout"') as caught:
            await answered(port, request(service, options={"extra_body": {"shout": True}}))
    assert isinstance(posture(caught.value.failure), Stop)
