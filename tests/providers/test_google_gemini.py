"""The wire to Gemini, against a double that checks as the service does."""

from typing import Any

import pytest

from activities.model.endpoint import Wire
from activities.model.failures import Retry, Stop, classify
from activities.model.model_options import spell
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
)
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import GO, collect_answer
from tests.providers.double_requests import request as asking
from tests.providers.google_gemini import KEY, Answer, Call, Gemini, Text, Thought
from tests.providers.provider_double import Disconnect, event, serve_double
from workflows.domain.errors import ModelError
from workflows.domain.messages import RequestedCall, TextPart
from workflows.domain.usage import Tokens

TWO = Answer((Thought("Look."), Text("I read."), Call("read", {"path": "a"}), Call("read", {"path": "b"})))


def request(
    service: Gemini, messages: tuple[InputMessage, ...] = GO, model: str = "gemini-3.1-pro-preview", **more: Any
) -> ModelRequest:
    return asking(Wire.GEMINI, f"gemini/{model}", f"{service.double.url}/v1beta", KEY, messages, **more)


@pytest.mark.parametrize("model", ["gemini-3.1-pro-preview", "gemini-2.5-pro"])
async def test_an_answer_arrives_whole_and_its_signatures_go_back_unchanged(port: WireRouter, model: str) -> None:
    service = Gemini(TWO, Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service, model=model))
        results = tuple(ToolResultInput(call=call.id, content="x") for call in first.calls)
        picture = UserInput(content=(TextPiece(text="It shows:"), ImagePiece(url="data:image/png;base64,AAAA")))
        said = AssistantInput(parts=first.parts)
        talk = (SystemInput(content="Be brief."), *GO, said, *results, picture)
        last = await collect_answer(port, request(service, talk, model))

    assert [part.text for part in first.parts if not isinstance(part, RequestedCall)][:2] == ["Look.", "I read."]
    assert [call.arguments for call in first.calls] == ['{"path": "a"}', '{"path": "b"}']
    assert first.finish is Finish.TOOL_CALLS
    assert first.tokens == Tokens(total=130, input=40, output=20, reasoning=10, cache_read=60)
    assert last.parts == (TextPart(text="Done."),)


async def test_the_signature_of_a_text_goes_back_behind_it(port: WireRouter) -> None:
    service = Gemini(Answer((Thought("Look."), Text("I know.", signed=True))), Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service))
        await collect_answer(port, request(service, (*GO, AssistantInput(parts=first.parts), *GO)))

    (signature,) = service.signed
    parts = service.double.asked[1]["contents"][1]["parts"]
    assert parts == [{"text": "I know."}, {"text": "", "thoughtSignature": signature}]


@pytest.mark.parametrize("model", ["gemini-3.1-pro-preview", "gemini-2.5-pro"])
async def test_calls_that_another_model_made_are_taken(port: WireRouter, model: str) -> None:
    made = [RequestedCall(id=f"toolu_{n}", name="read", arguments="{}") for n in "ab"]
    results = (ToolResultInput(call=call.id, content="x") for call in made)
    service = Gemini(Answer((Text("Done."),)))
    async with serve_double(service.double):
        talk = (*GO, AssistantInput(parts=(TextPart(text="So:"), *made)), *results)
        assert (await collect_answer(port, request(service, talk, model))).parts == (TextPart(text="Done."),)


async def test_a_failed_call_is_an_error(port: WireRouter) -> None:
    made = RequestedCall(id="call_1", name="read", arguments="{}")
    service = Gemini(Answer((Text("Done."),)))
    async with serve_double(service.double):
        result = ToolResultInput(call=made.id, content="No such file.", failed=True)
        await collect_answer(port, request(service, (*GO, AssistantInput(parts=(made,)), result)))

    (part,) = service.double.asked[0]["contents"][2]["parts"]
    assert part["functionResponse"]["response"] == {"error": "No such file."}


SHOWN = {"includeThoughts": True}
LOW = {**SHOWN, "thinkingLevel": "low"}


@pytest.mark.parametrize(
    ("model", "options", "sent"),
    [
        ("gemini-3.1-pro-preview", {}, {"thinkingConfig": SHOWN}),
        (
            "gemini-3.1-pro-preview",
            {"reasoning_effort": "minimal"},
            {"thinkingConfig": {**SHOWN, "thinkingLevel": "low"}},
        ),
        (
            "gemini-3-flash-preview",
            {"reasoning_effort": "minimal"},
            {"thinkingConfig": {**SHOWN, "thinkingLevel": "minimal"}},
        ),
        ("gemini-3.8-flash", {"reasoning_effort": "minimal"}, {"thinkingConfig": LOW}),
        ("gemini-2.5-pro", {"reasoningEffort": "low"}, {"thinkingConfig": {**SHOWN, "thinkingBudget": 1024}}),
        ("gemini-2.5-flash-image", {"topP": 0.5, "stop": ["x"]}, {"topP": 0.5, "stopSequences": ["x"]}),
        (
            "gemini-2.5-flash-image",
            {"stop": "x", "seed": 7, "frequency_penalty": 0.1, "presence_penalty": 0.2},
            {"stopSequences": ["x"], "seed": 7, "frequencyPenalty": 0.1, "presencePenalty": 0.2},
        ),
        ("gemini-2.5-flash-image", {"verbosity": "low", "store": False, "prompt_cache_key": "k"}, {}),
        (
            "gemini-2.5-flash-image",
            {"parallel_tool_calls": False, "n": 1, "user": "u", "logit_bias": {}, "response_format": {"type": "text"}},
            {},
        ),
    ],
)
async def test_options_stand_where_this_api_wants_them(
    port: WireRouter, model: str, options: dict[str, Any], sent: dict[str, Any]
) -> None:
    service = Gemini(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        await collect_answer(port, request(service, model=model, options=spell(options, Wire.GEMINI)))

    assert service.double.asked[0]["generationConfig"] == sent


@pytest.mark.parametrize(
    ("said", "finish", "explanation"),
    [
        (Answer((Text("Hi"),)), Finish.STOP, ""),
        (Answer((Text("Hi"),), finish="MAX_TOKENS"), Finish.LENGTH, ""),
        (Answer((), finish="SAFETY", explained="It is unsafe."), Finish.CONTENT_FILTER, "SAFETY: It is unsafe."),
        (Answer((), finish="RECITATION"), Finish.CONTENT_FILTER, "RECITATION"),
        (Answer((), finish="ESCALATION"), Finish.CONTENT_FILTER, "ESCALATION"),
        (Answer((), blocked="PROHIBITED_CONTENT"), Finish.CONTENT_FILTER, "PROHIBITED_CONTENT"),
        (Answer((), blocked="OTHER", explained="No."), Finish.CONTENT_FILTER, "OTHER: No."),
        (Answer((), finish="MALFORMED_FUNCTION_CALL"), Finish.UNKNOWN, "MALFORMED_FUNCTION_CALL"),
        (Answer((), finish="UNEXPECTED_TOOL_CALL"), Finish.UNKNOWN, "UNEXPECTED_TOOL_CALL"),
    ],
)
async def test_the_end_is_that_of_the_service(port: WireRouter, said: Answer, finish: Finish, explanation: str) -> None:
    service = Gemini(said)
    async with serve_double(service.double):
        answer = await collect_answer(port, request(service))
    assert (answer.finish, answer.explanation) == (finish, explanation)


@pytest.mark.parametrize(
    "said",
    [
        Answer((Text("Half a te"), Disconnect())),
        Answer((Disconnect(),)),
        Answer((Text("Hi"), Disconnect(clean=False))),
        Answer((event({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),)),
    ],
)
async def test_a_cut_answer_is_asked_for_again(port: WireRouter, said: Answer) -> None:
    service = Gemini(said)
    async with serve_double(service.double):
        with pytest.raises(ModelError) as caught:
            await collect_answer(port, request(service))
    assert isinstance(classify(caught.value.failure), Retry)


async def test_a_refusal_keeps_the_words_of_the_service(port: WireRouter) -> None:
    service = Gemini(TWO)
    async with serve_double(service.double):
        with pytest.raises(ModelError, match='Unknown name "shout"') as caught:
            await collect_answer(port, request(service, options={"extra_body": {"shout": True}}))
    assert isinstance(classify(caught.value.failure), Stop)
