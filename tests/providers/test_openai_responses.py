"""The Responses wire, against a double that checks as the service does."""

from dataclasses import replace
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError

from activities.model.endpoint import Wire
from activities.model.failures import Overflow, Retry, Stop, StopKind, classify
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
from tests.providers.openai_responses import KEY, Answer, Call, Form, OpenAI, Refusal, Text, Thought
from tests.providers.provider_double import Disconnect, RefusedRequest, event, serve_double
from workflows.domain.errors import ModelError
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import Tokens

READS = Answer((Thought(("Look", "Then read")), Text("I read it."), Call("read", '{"path": "a"}')))


def ended(reason: str) -> bytes:
    """With a reason that OpenAI's types of this release lack."""
    response = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []}
    return event({"type": "response.incomplete", "response": response})


def request(service: OpenAI, messages: tuple[InputMessage, ...] = GO, model: str = "gpt-5.3-codex", **more: Any) -> Any:
    return asking(Wire.RESPONSES, f"openai/{model}", f"{service.double.url}/v1", KEY, messages, **more)


@pytest.mark.parametrize("form", Form)
async def test_an_answer_arrives_whole(port: WireRouter, form: Form) -> None:
    service = OpenAI(replace(READS, form=form))
    async with serve_double(service.double):
        answer = await collect_answer(port, request(service))

    kept: Any = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": summary("Look", "Then read"),
        "encrypted_content": "secret-1",
    }
    assert answer.parts == (
        ReasoningPart(text="Look\n\nThen read", details=({"item": kept},)),
        TextPart(text="I read it."),
        RequestedCall("call_3", "read", '{"path": "a"}'),
    )
    assert answer.finish is Finish.TOOL_CALLS
    assert answer.tokens == Tokens(total=130, input=40, output=20, reasoning=10, cache_read=60)


async def test_the_provider_keeps_nothing_and_gives_thoughts_back_encrypted(port: WireRouter) -> None:
    service = OpenAI(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        await collect_answer(port, request(service, (SystemInput(content="Be brief."), *GO)))

    body = service.double.asked[0]
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["instructions"] == "Be brief."
    assert body["tools"][0]["name"] == "read"


async def test_what_the_model_thought_goes_back_where_it_stood(port: WireRouter) -> None:
    both = Answer((Thought(), Call("read", "{}"), Thought(), Call("read", '{"path": "b"}')))
    service = OpenAI(both, Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service))
        results = [ToolResultInput(call=call.id, content="x") for call in first.calls]
        talk = (*GO, AssistantInput(parts=first.parts), *results)
        assert (await collect_answer(port, request(service, talk))).parts == (TextPart(text="Done."),)

    sent = [item.get("type") for item in service.double.asked[1]["input"][1:]]
    assert sent == ["reasoning", "function_call"] * 2 + ["function_call_output"] * 2


LOOKED = (Text("Looking.", phase="commentary"), Text("Done.", phase="final_answer"))


@pytest.mark.parametrize("form", Form)
async def test_messages_stay_apart_and_go_back_with_their_phases(port: WireRouter, form: Form) -> None:
    service = OpenAI(Answer(LOOKED, form=form))
    async with serve_double(service.double):
        answer = await collect_answer(port, request(service))
        await collect_answer(port, request(service, (*GO, AssistantInput(parts=answer.parts), *GO)))

    assert answer.parts == (
        TextPart(text="Looking.", phase="commentary"),
        TextPart(text="Done.", phase="final_answer"),
    )
    assert service.double.asked[1]["input"][1:3] == [
        {"type": "message", "role": "assistant", "content": "Looking.", "phase": "commentary"},
        {"type": "message", "role": "assistant", "content": "Done.", "phase": "final_answer"},
    ]


async def test_a_conversation_that_another_model_began_is_taken(port: WireRouter) -> None:
    thought = ReasoningPart(text="Hm.", details=({"type": "thinking", "signature": "of another provider"},))
    call = RequestedCall(id="call_" + "x" * 100, name="read", arguments="{broken \ud800")
    seen = UserInput(content=(TextPiece(text="Look:"), ImagePiece(url="data:image/png;base64,AA==")))
    talk = (*GO, AssistantInput(parts=(thought, TextPart(text="So:"), call)))
    service = OpenAI(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        answer = await collect_answer(
            port, request(service, (*talk, ToolResultInput(call=call.id, content="\ud800"), seen))
        )

    assert answer.parts == (TextPart(text="Hi"),)


async def test_what_the_model_said_goes_back_with_its_type_for_servers_that_guess_none(port: WireRouter) -> None:
    said = Answer((Text("I read it."), Call("read", "{}")))
    service = OpenAI(said)
    async with serve_double(service.double):
        first = await collect_answer(port, request(service))
        (call,) = first.calls
        result = ToolResultInput(call=call.id, content="x")
        await collect_answer(port, request(service, (*GO, AssistantInput(parts=first.parts), result)))

    sent = [item["type"] for item in service.double.asked[1]["input"] if item.get("role") != "user"]
    assert sent == ["message", "function_call", "function_call_output"]


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "o3-pro", "gpt-5-pro", "gpt-6-sol"])
async def test_a_model_gets_only_what_it_takes(port: WireRouter, model: str) -> None:
    service = OpenAI(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        assert (await collect_answer(port, request(service, model=model))).parts == (TextPart(text="Hi"),)


async def test_options_stand_where_this_api_wants_them(port: WireRouter) -> None:
    options: dict[str, Any] = {
        "reasoningEffort": "high",
        "textVerbosity": "low",
        "serviceTier": "flex",
        "max_completion_tokens": 9,
    }
    service = OpenAI(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        await collect_answer(port, request(service, options=spell(options, Wire.RESPONSES), tool_choice="none"))

    body = service.double.asked[0]
    assert body["reasoning"] == {"effort": "high"}
    assert (body["text"], body["service_tier"], body["max_output_tokens"]) == ({"verbosity": "low"}, "flex", 9)
    assert body["tool_choice"] == "none"


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        (Answer((Text("Hi"),)), Finish.STOP),
        (Answer((Text("Hi"),), incomplete="max_output_tokens"), Finish.LENGTH),
        (Answer((Text("Hi"),), incomplete="content_filter"), Finish.CONTENT_FILTER),
        (Answer((ended("max_messages"),)), Finish.PAUSE),
        (Answer((ended("steered"),)), Finish.PAUSE),
        (Answer((ended("reason_of_tomorrow"),)), Finish.UNKNOWN),
        *((Answer((Refusal("I cannot help with that."),), form=form), Finish.CONTENT_FILTER) for form in Form),
    ],
)
async def test_the_end_is_that_of_the_service(port: WireRouter, said: Answer, finish: Finish) -> None:
    service = OpenAI(said)
    async with serve_double(service.double):
        answer = await collect_answer(port, request(service))
    assert answer.finish is finish
    assert (finish in (Finish.PAUSE, Finish.UNKNOWN)) <= (answer.explanation in str(said.output))
    assert answer.parts == tuple(TextPart(text=each.text) for each in said.output if isinstance(each, Text | Refusal))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Answer((Text("Hi"),), failed=("server_error", "The server had an error.")), Retry),
        (Answer((Text("Hi"),), failed=("rate_limit_exceeded", "Slow down.")), Retry),
        (Answer((Text("Hi"),), failed=("invalid_prompt", "No.")), StopKind.BAD_REQUEST),
        (Answer((b'data: {"type": "error", "code": "context_length_exceeded", "message": "no"}\n\n',)), Overflow),
        (Answer((Text("Hi"), Disconnect())), Retry),
        (Answer((Text("Hi"), Disconnect(clean=False))), Retry),
        (Answer((Text("Hi"), b"data: {broken\n\n")), Retry),
        (Answer((Text("Hi"), b'data: {"type": "response.output_text.delta"}\n\n')), Retry),
        (Answer((b'event: error\ndata: {"type": "error", "code": "server_error", "message": "no"}\n\n',)), Retry),
        (Answer((b'data: {"error": {"code": "insufficient_quota", "message": "no"}}\n\n',)), StopKind.QUOTA),
    ],
)
async def test_a_failing_answer_is_classified(
    port: WireRouter, said: Answer, expected: type[Retry] | type[Overflow] | StopKind
) -> None:
    service = OpenAI(said)
    async with serve_double(service.double):
        action = classify(await failure(port, request(service)))
    assert (action.kind if isinstance(action, Stop) else type(action)) == expected


def failed_response(code: str, **more: Any) -> bytes:
    """With what OpenAI's types of this release lack."""
    error = {"code": code, "message": "Blocked: potentially unintended activity.", **more}
    return event({"type": "response.failed", "response": {"status": "failed", "error": error}})


@pytest.mark.parametrize("begun", [(), (Text("Hi"),)])
async def test_why_an_answer_was_blocked_reaches_the_person(port: WireRouter, begun: tuple[Text, ...]) -> None:
    explained = {"detailed_explanation": "It would delete the backups.", "error_type": "other"}
    failed = failed_response("misalignment_policy_violation", misalignment=explained)
    service = OpenAI(Answer((*begun, failed)))
    async with serve_double(service.double):
        action = classify(await failure(port, request(service)))
    message = "Blocked: potentially unintended activity. It would delete the backups."
    assert action == Stop(kind=StopKind.CONTENT, message=message)


async def test_a_failure_with_an_unknown_code_is_asked_again_a_few_times(port: WireRouter) -> None:
    service = OpenAI(Answer((failed_response("code_of_tomorrow"),)))
    async with serve_double(service.double):
        action = classify(await failure(port, request(service)))
    assert isinstance(action, Retry) and action.few


async def test_two_calls_of_one_index_stay_two(port: WireRouter) -> None:
    """As some servers count; others send no index (llama.cpp), or an empty event as a sign of life."""
    call = {"type": "function_call", "name": "read", "arguments": ""}
    events: list[dict[str, Any]] = [{}]
    for number, place in enumerate(({"output_index": 0}, {"output_index": 0}, {}, {})):
        item = {**call, "id": f"fc_{number}", "call_id": f"call_{number}"}
        for type, more in (
            ("response.output_item.added", {"item": item}),
            ("response.function_call_arguments.delta", {"item_id": item["id"], "delta": "{}"}),
            ("response.output_item.done", {"item": {**item, "arguments": "{}"}}),
        ):
            events.append({"type": type, **place, **more})
    service = OpenAI(Answer([*map(event, events)]))
    async with serve_double(service.double):
        answer = await collect_answer(port, request(service))
    assert answer.parts == tuple(RequestedCall(f"call_{number}", "read", "{}") for number in range(4))


async def test_reasoning_needs_no_summary(port: WireRouter) -> None:
    item = {"type": "reasoning", "id": "rs_9", "encrypted_content": "secret"}
    service = OpenAI(Answer((event({"type": "response.output_item.done", "output_index": 0, "item": item}),)))
    async with serve_double(service.double):
        answer = await collect_answer(port, request(service))
    assert answer.parts == (ReasoningPart(text="", details=({"item": {**item, "summary": []}},)),)


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (429, {"message": "Rate limit reached", "code": "rate_limit_exceeded"}, Retry),
        (429, {"message": "You exceeded your quota", "code": "insufficient_quota"}, StopKind.QUOTA),
        (500, {"message": "The server had an error"}, Retry),
        (400, {"message": "Your input exceeds the context window", "code": "context_length_exceeded"}, Overflow),
        (404, {"message": "The model does not exist", "code": "model_not_found"}, StopKind.NOT_FOUND),
        (401, {"message": "Incorrect API key provided"}, StopKind.AUTH),
    ],
)
async def test_a_refusal_is_classified(
    port: WireRouter, status: int, error: dict[str, str], expected: type[Retry] | type[Overflow] | StopKind
) -> None:
    service = OpenAI(Answer(()))

    def refuse(*_: object) -> Any:
        raise RefusedRequest(status, {"error": error}, {"retry-after": "7"})

    service.double.check = refuse
    async with serve_double(service.double):
        failed = await failure(port, request(service))

    assert (failed.status, failed.message, (failed.headers or {})["retry-after"]) == (status, error["message"], "7")
    action = classify(failed)
    assert (action.kind if isinstance(action, Stop) else type(action)) == expected
    assert len(service.double.asked) == 1, "the client asked again by itself"


async def test_the_double_speaks_what_openais_own_client_understands() -> None:
    service = OpenAI(READS)
    async with serve_double(service.double):
        client = AsyncOpenAI(api_key=KEY, base_url=f"{service.double.url}/v1", max_retries=0)
        stream = await client.responses.create(model="gpt-5", input="go", stream=True)
        seen = [event.type async for event in stream]
        with pytest.raises(BadRequestError, match="Unknown parameter: 'shout'"):
            await client.responses.create(model="gpt-5", input="go", stream=True, extra_body={"shout": True})
        orphan: Any = [{"type": "function_call_output", "call_id": "call_9", "output": "x"}]
        with pytest.raises(BadRequestError, match="No tool call found"):
            await client.responses.create(model="gpt-5", input=orphan, stream=True)
        await client.close()

    assert (seen[0], seen[-1]) == ("response.created", "response.completed")
    assert "response.function_call_arguments.delta" in seen


async def failure(port: WireRouter, asked: ModelRequest) -> Any:
    with pytest.raises(ModelError) as caught:
        await collect_answer(port, asked)
    return caught.value.failure


def summary(*texts: str) -> list[dict[str, str]]:
    return [{"type": "summary_text", "text": text} for text in texts]
