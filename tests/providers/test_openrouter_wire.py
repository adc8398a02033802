"""OpenRouter with models of several companies, and the failures that only it has."""

import json
from typing import Any, Final

import pytest

from activities.model.endpoint import Wire
from activities.model.failures import Retry, Stop, classify
from activities.model.port import AssistantInput, Finish, ToolResultInput
from activities.model.stream import Answer as Assembled
from activities.model.wires.router import WireRouter
from tests.providers.double_outputs import Answer, Call, Output, Text, Thought
from tests.providers.double_requests import GO, collect_answer, request
from tests.providers.openrouter_chat import KEY, MODELS, OpenRouter, error_body, passed_on
from tests.providers.provider_double import RefusedRequest, serve_double
from workflows.domain.errors import ModelError
from workflows.domain.messages import ReasoningPart, TextPart

THINKS: Final = {"reasoning": {"max_tokens": 2048}}
THOUGHTS: Final[dict[str, tuple[Output, ...]]] = {
    "one": (Thought("Look first."), Text("Both:"), Call("read", "{}"), Call("ls", "{}")),
    "between calls": (Thought("Look first."), Call("read", "{}"), Thought(" And that."), Call("ls", "{}")),
    "redacted": (Thought(redacted=True), Thought("Look first."), Call("read", "{}")),
    "without calls": (Thought("Look first."), Text("I know.")),
}


async def ask(port: WireRouter, service: OpenRouter, model: str, *more: Any) -> Assembled:
    url = f"{service.double.url}/api/v1"
    return await collect_answer(port, request(Wire.CHAT, f"openrouter/{model}", url, KEY, (*GO, *more), options=THINKS))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", THOUGHTS)
async def test_a_models_thoughts_go_back_as_its_company_wants_them(port: WireRouter, model: str, kind: str) -> None:
    """The double refuses them otherwise."""
    service = OpenRouter(Answer(THOUGHTS[kind]), Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await ask(port, service, model)
        results = [ToolResultInput(call=call.id, content="x") for call in first.calls]
        second = await ask(port, service, model, AssistantInput(parts=first.parts), *(results or GO))

    thoughts = [part.text for part in first.parts if isinstance(part, ReasoningPart)]
    assert "".join(thoughts) == "".join(each.text for each in THOUGHTS[kind] if isinstance(each, Thought))
    assert second.parts == (TextPart(text="Done."),)
    assert service.double.asked[1]["messages"][1]["reasoning_details"] == [*service.sent.values()][0]


async def test_the_cost_is_what_openrouter_took(port: WireRouter) -> None:
    service = OpenRouter(Answer((Text("Done."),)))
    async with serve_double(service.double):
        answer = await ask(port, service, MODELS[0])

    assert str(answer.reported_cost) == "0.001174"
    assert (answer.tokens.input, answer.tokens.cache_read, answer.tokens.reasoning) == (40, 60, 10)


async def test_a_provider_that_breaks_off_ends_the_answer_as_an_error(port: WireRouter) -> None:
    service = OpenRouter(Answer((Text("Half an"),), "error"))
    async with serve_double(service.double):
        with pytest.raises(ModelError) as caught:
            await ask(port, service, MODELS[0])
    assert isinstance(classify(caught.value.failure), Retry)


async def test_an_answer_that_the_company_filtered_is_blocked(port: WireRouter) -> None:
    service = OpenRouter(Answer((Text("Half an"),), "refusal"))
    async with serve_double(service.double):
        assert (await ask(port, service, MODELS[0])).finish is Finish.CONTENT_FILTER


FLAGGED: Final = {
    "reasons": ["violence"],
    "flagged_input": "how to …",
    "provider_name": "OpenAI",
    "model_slug": "openai/gpt-5.4",
}


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, error_body("Your input was flagged", 403, **FLAGGED), ["flagged"]),
        (402, error_body("This request requires more credits, or fewer max_tokens.", 402), ["more credits"]),
        (404, error_body("No endpoints found that support tool use.", 404), ["No endpoints found"]),
    ],
)
async def test_what_can_never_succeed_stops_with_the_words_of_who_refused(
    port: WireRouter, status: int, body: dict[str, Any], words: list[str]
) -> None:
    service = OpenRouter()

    def refuse(*_: object) -> Any:
        raise RefusedRequest(status, body)

    service.double.check = refuse
    async with serve_double(service.double):
        with pytest.raises(ModelError) as caught:
            await ask(port, service, MODELS[0])
    action = classify(caught.value.failure)
    assert isinstance(action, Stop), action
    assert all(word in action.message for word in words), action.message


async def test_an_error_with_status_200_and_no_stream_is_an_error(port: WireRouter) -> None:
    """OpenRouter answers so if the model fails before its first piece."""
    service = OpenRouter()
    service.double.kind = "application/json"
    service.double.check = lambda *_: [
        json.dumps(passed_on("Anthropic", {"error": {"message": "Overloaded"}}, 502)).encode()
    ]
    async with serve_double(service.double):
        with pytest.raises(ModelError) as caught:
            await ask(port, service, MODELS[0])
    assert isinstance(classify(caught.value.failure), Retry)
    assert "Overloaded" in caught.value.failure.message
