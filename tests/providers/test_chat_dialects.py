"""OpenAI's chat protocol as its many providers speak it: what they send, and what they get."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from activities.model.chat_dialects import dialect_of
from activities.model.chat_format import build_body
from activities.model.endpoint import Endpoint, Wire
from activities.model.failures import FailureAction, Overflow, Retry, Stop, StopKind, classify
from activities.model.port import (
    AssistantInput,
    FilePiece,
    Finish,
    ImagePiece,
    InputMessage,
    ModelRequest,
    SystemInput,
    TextPiece,
    ToolResultInput,
    UserInput,
)
from activities.model.stream import Answer
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import GO, READ, collect_answer
from tests.providers.mistral_chat import error_body
from tests.providers.provider_double import ProviderDouble, RefusedRequest, event, serve_double
from workflows.domain.errors import ModelError
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart

CALLS = (RequestedCall("call_1", "read", "{}"), RequestedCall("abcdefgh1", "read", "{}"))
TALK: tuple[InputMessage, ...] = (
    SystemInput(content="Be brief."),
    *GO,
    AssistantInput(parts=CALLS),
    ToolResultInput(call="call_1", content="x"),
    ToolResultInput(call="abcdefgh1", content=" "),
    UserInput(content="Only a."),
)
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def plays(*chunks: dict[str, Any]) -> ProviderDouble:
    return ProviderDouble(lambda *_: [*map(event, chunks), b"data: [DONE]\n\n"])


def asking(model: str, url: str, messages: tuple[InputMessage, ...] = GO, **more: Any) -> ModelRequest:
    """A request with a tool, to a model by its name in `Endpoint.model`."""
    endpoint = Endpoint(model=model, base_url=f"{url}/v1", key=SecretStr("k"), wire=Wire.CHAT)
    return ModelRequest(endpoint=endpoint, messages=messages, **{"tools": (READ,), **more})


async def answered(port: WireRouter, model: str, *chunks: dict[str, Any]) -> Answer:
    async with serve_double(plays(*chunks)) as double:
        return await collect_answer(port, asking(model, double.url))


async def failed(port: WireRouter, model: str, *chunks: dict[str, Any]) -> FailureAction:
    with pytest.raises(ModelError) as caught:
        await answered(port, model, *chunks)
    return classify(caught.value.failure)


async def sent(port: WireRouter, model: str, messages: tuple[InputMessage, ...] = TALK, **more: Any) -> dict[str, Any]:
    """The body of a request."""
    async with serve_double(plays(chunk({"content": "Done."}, "stop"))) as double:
        await collect_answer(port, asking(model, double.url, messages, **more))
    return double.asked[0]


async def given_back(port: WireRouter, model: str, *deltas: dict[str, Any]) -> dict[str, Any]:
    """The message that gives an answer of these deltas back to its model."""
    answer = await answered(port, model, *map(chunk, deltas), chunk({}, "stop"))
    results = tuple(ToolResultInput(call=call.id, content="x") for call in answer.calls)
    body = await sent(port, model, (*GO, AssistantInput(parts=answer.parts), *results, *GO))
    message: dict[str, Any] = body["messages"][1]
    return message


def signed(text: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": 0, **more}


ENCRYPTED = {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "c1", "format": "google-gemini-v1", "index": 1}
TAGGED = [{"content": piece} for piece in ("\n<th", "ink>First", " the file.</thi", "nk>\n\nI re", "ad it.")]
REASONING: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    **{
        name: ([{name: "First "}, {name: "the file."}, {"content": "I read it."}], {name: "First the file."})
        for name in ("reasoning_content", "reasoning", "reasoning_text")
    },
    "OpenRouter's details": (
        [
            {"reasoning": "First ", "reasoning_details": [signed("First ")]},
            {"reasoning": "the file.", "reasoning_details": [signed("the file.")]},
            {"reasoning_details": [signed(None, signature="c2ln")]},
            {"reasoning_details": [ENCRYPTED]},
            {"content": "I read it."},
        ],
        {"reasoning_details": [signed("First the file.", signature="c2ln"), ENCRYPTED]},
    ),
    "tags": (TAGGED, {"content": "<think>First the file.</think>\n\nI read it."}),
    "Mistral's chunks": (
        [
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
            for text in ("First ", "the file.")
        ]
        + [{"content": [{"type": "text", "text": "I "}]}, {"content": "read it."}],
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "First the file."}]},
                {"type": "text", "text": "I read it."},
            ]
        },
    ),
}


@pytest.mark.parametrize(("deltas", "expected"), REASONING.values(), ids=REASONING.keys())
async def test_reasoning_goes_back_in_the_form_in_which_it_came(
    port: WireRouter, deltas: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    message = await given_back(port, "some-provider/some-model", *deltas)

    assert message == {"role": "assistant", "content": "I read it.", **expected}


@pytest.mark.parametrize("deltas", [deltas for deltas, _ in REASONING.values()], ids=REASONING.keys())
async def test_reasoning_is_shown_apart_from_the_text(port: WireRouter, deltas: list[dict[str, Any]]) -> None:
    answer = await answered(port, "some-provider/some-model", *map(chunk, deltas), chunk({}, "stop"))

    thought, text = answer.parts
    assert isinstance(thought, ReasoningPart) and isinstance(text, TextPart)
    assert (thought.text, text.text.strip()) == ("First the file.", "I read it.")


async def test_details_of_reasoning_go_back_beside_the_member_that_a_model_demands(port: WireRouter) -> None:
    deltas = ({"reasoning_details": [signed("Hm.")]}, {"tool_calls": [CALL]})

    message = await given_back(port, "openrouter/deepseek/deepseek-v4", *deltas)

    assert (message["reasoning_details"], message["reasoning_content"]) == ([signed("Hm.")], "Hm.")


async def test_encrypted_reasoning_behind_a_call_goes_back_with_it(port: WireRouter) -> None:
    deltas = ({"reasoning_details": [signed("Hm.", signature="c2ln")]}, {"tool_calls": [CALL]})

    message = await given_back(port, "openrouter/google/gemini-3-pro", *deltas, {"reasoning_details": [ENCRYPTED]})

    assert message["reasoning_details"] == [signed("Hm.", signature="c2ln"), ENCRYPTED]
    assert [call["id"] for call in message["tool_calls"]] == ["c1"]


async def test_what_a_provider_has_signed_a_call_with_goes_back_at_it(port: WireRouter) -> None:
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    calls = {"tool_calls": [{**CALL, **extra}, {**CALL, "index": 1, "id": "c2"}]}

    message = await given_back(port, "some-provider/gemini", {"content": "So:"}, calls)

    assert [call.get("extra_content") for call in message["tool_calls"]] == [extra["extra_content"], None]


@pytest.mark.parametrize("model", ["xai/grok-4", "perplexity/sonar", "azure/mine"])
async def test_some_take_no_reasoning_back(port: WireRouter, model: str) -> None:
    message = await given_back(port, model, {"reasoning_content": "Hm."}, {"content": "Hi"})

    assert message == {"role": "assistant", "content": "Hi"}


@pytest.mark.parametrize(
    ("model", "missing"),
    [
        ("deepseek/deepseek-chat", " "),
        ("moonshot/kimi-k2-thinking", " "),
        ("openai/deepseek-v3.2", " "),
        ("openrouter/moonshotai/kimi-k2-thinking", " "),
        ("vercel_ai_gateway/deepseek/deepseek-v4", " "),
        ("together_ai/moonshotai/Kimi-K2.5", " "),
        ("groq/deepseek-r1", None),
        ("openai/llama", None),
    ],
)
async def test_some_refuse_answers_without_reasoning(port: WireRouter, model: str, missing: str | None) -> None:
    assert (await sent(port, model))["messages"][2].get("reasoning_content") == missing


@pytest.mark.parametrize("piece", ["<thing>", " <b", "<think", "", "\n"])
async def test_a_text_that_only_looks_like_a_tag_is_a_text(port: WireRouter, piece: str) -> None:
    answer = await answered(port, "openai/m", chunk({"content": piece}), chunk({"content": "> is"}), chunk({}, "stop"))

    expected = "".join(part.text for part in answer.parts if isinstance(part, TextPart | ReasoningPart))
    assert expected == f"{piece}> is".replace("<think>", "")


async def test_reasoning_without_an_end_is_kept(port: WireRouter) -> None:
    answer = await answered(port, "openai/m", chunk({"content": "<think>Half a th</th"}), chunk({}, "length"))

    assert [(type(part), part.text) for part in answer.parts if not isinstance(part, RequestedCall)] == [
        (ReasoningPart, "Half a th</th")
    ]


MISTRALS = (
    *("mistral/mistral-large-latest", "mistral/ft:open-nemo:tuned", "codestral/latest"),
    *("openrouter/mistralai/Devstral-Small", "openai/devstral", "nvidia/Mixtral-8x22B"),
)


@pytest.mark.parametrize("model", MISTRALS)
async def test_mistrals_models_get_ids_and_roles_as_they_want_them(port: WireRouter, model: str) -> None:
    messages = (await sent(port, model))["messages"][1:]

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    ids = [call["id"] for call in messages[1]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in messages[2:4]]
    assert ids[0].isalnum() and len(ids[0]) == 9 and ids[1] == "abcdefgh1"


@pytest.mark.parametrize("model", ["groq/llama-3.3-70b-versatile", "openai/gpt-4o"])
async def test_others_get_what_was_said(port: WireRouter, model: str) -> None:
    messages = (await sent(port, model))["messages"][1:]

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[2]["tool_call_id"] == "call_1" and messages[3]["content"] == "(no output)"


@pytest.mark.parametrize("model", ["openrouter/anthropic/claude-opus-4.5", "openai/claude-proxied", "github/Claude"])
async def test_claude_gets_ids_that_it_takes(port: WireRouter, model: str) -> None:
    talk = (
        *GO,
        AssistantInput(parts=(RequestedCall("call:1/é", "read", "{}"),)),
        ToolResultInput(call="call:1/é", content="x"),
    )

    call, result = (await sent(port, model, talk))["messages"][1:]

    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert call["tool_calls"][0]["id"].isalnum()


def test_litellm_has_its_own_forms_of_ids() -> None:
    endpoint = Endpoint(model="watsonx/meta-llama/llama-4-scout")
    messages = build_body(ModelRequest(endpoint=endpoint, messages=TALK))["messages"]

    assert [message["role"] for message in messages[1:]] == ["user", "assistant", "tool", "tool", "user"]
    assert [message.get("tool_call_id") for message in messages[3:5]] == ["call_1", "abcdefgh1"]


def marked(body: dict[str, Any]) -> list[int]:
    return [
        place
        for place, message in enumerate(body["messages"])
        if isinstance(message["content"], list) and any("cache_control" in block for block in message["content"])
    ]


@pytest.mark.parametrize(
    ("model", "marks"),
    [
        ("openrouter/anthropic/claude-opus-4.5", True),
        ("openrouter/google/gemini-3-pro", True),
        ("vercel_ai_gateway/anthropic/claude-opus-4.5", True),
        ("openai/claude-proxied", True),
        ("cortecs/claude-sonnet-4-5", True),
        ("openrouter/openai/gpt-5", False),
        ("openai/gemini", False),
        ("groq/llama", False),
    ],
)
async def test_three_parts_are_marked_where_the_provider_caches_what_is(
    port: WireRouter, model: str, marks: bool
) -> None:
    assert marked(await sent(port, model)) == ([0, 1, 5] if marks else [])
    assert marked(await sent(port, model, TALK[:2])) == ([0, 1] if marks else [])


async def test_a_mark_is_at_the_last_text_of_a_message_and_changes_nothing_else(port: WireRouter) -> None:
    picture = ImagePiece(url="data:image/png;base64,iVBORw0KGgo=")
    shown = (*TALK[:-1], UserInput(content=(TextPiece(text="Look:"), picture)))
    model = "openrouter/anthropic/claude-opus-4.5"

    before, after = await sent(port, model, shown), await sent(port, model, (*shown, TALK[2], *TALK[3:]))

    last = before["messages"][-1]["content"]
    assert [block.pop("cache_control", None) for block in last] == [{"type": "ephemeral"}, None]
    assert marked(after) == [0, 5, 9]
    for body in (before, after):
        for place in marked(body):
            for block in body["messages"][place]["content"]:
                block.pop("cache_control", None)
    assert after["messages"][:6] == before["messages"]


async def test_parameters_are_those_that_a_provider_takes(port: WireRouter) -> None:
    limited: dict[str, Any] = {"max_output": 99, "tool_choice": "none"}

    usual = await sent(port, "openai/m", **limited)
    assert (usual["max_tokens"], usual["tool_choice"]) == (99, "none")
    assert usual["stream_options"] == {"include_usage": True}
    assert "stream_options" not in await sent(port, "mistral/mistral-large-latest")
    assert "tool_choice" not in await sent(port, "zai/glm-4.6", **limited)
    assert not {"stream_options", "tool_choice"} & (await sent(port, "cohere_chat/command-a-03-2025", **limited)).keys()
    assert (await sent(port, "azure/mine", **limited))["max_completion_tokens"] == 99


async def test_mistral_gets_documents_by_their_address(port: WireRouter) -> None:
    document = FilePiece(name="a.pdf", url="data:application/pdf;base64,JVBERi0=")

    body = await sent(port, "mistral/mistral-large-latest", (UserInput(content=(TextPiece(text="Look:"), document)),))

    expected = {"type": "document_url", "document_url": document.url, "document_name": "a.pdf"}
    assert body["messages"][0]["content"][1] == expected


def test_azure_gets_its_key_in_a_header_of_its_own() -> None:
    endpoint = Endpoint(model="azure/mine", key=SecretStr("k"), wire=Wire.CHAT)

    assert endpoint.authorization == {"api-key": "k"}
    assert endpoint.model_copy(update={"headers": {"Authorization": "Bearer x"}}).authorization == {}


async def test_a_query_of_the_address_stays_behind_the_path(port: WireRouter) -> None:
    paths = []

    def check(request: Any, body: dict[str, Any]) -> list[bytes]:
        paths.append(str(request.rel_url))
        return [event(chunk({"content": "Hi"}, "stop"))]

    async with serve_double(ProviderDouble(check)) as double:
        endpoint = Endpoint(model="azure/mine", base_url=f"{double.url}/openai/deployments/mine?api-version=1")
        asked = ModelRequest(endpoint=endpoint.model_copy(update={"wire": Wire.CHAT}), messages=GO)
        await collect_answer(port, asked)

    assert paths == ["/openai/deployments/mine/chat/completions?api-version=1"]


FINISHES = {
    ("eos", None): Finish.STOP,
    ("model_length", None): Finish.LENGTH,
    ("sensitive", None): Finish.CONTENT_FILTER,
    ("stop", "refusal"): Finish.CONTENT_FILTER,
    ("stop", "SAFETY"): Finish.CONTENT_FILTER,
    ("stop", "end_turn"): Finish.STOP,
    ("stop", "MALFORMED_FUNCTION_CALL"): Finish.UNKNOWN,
    ("something new", None): Finish.UNKNOWN,
}


@pytest.mark.parametrize(("reasons", "finish"), FINISHES.items())
async def test_an_end_is_what_the_provider_says_it_is(
    port: WireRouter, reasons: tuple[str, str | None], finish: Finish
) -> None:
    reason, native = reasons
    answer = await answered(port, "openrouter/m", chunk({"content": "Hi"}, reason, native_finish_reason=native))

    assert answer.finish is finish


@pytest.mark.parametrize("last", [{"usage": USAGE}, {"choices": None, "usage": USAGE}])
async def test_a_last_chunk_of_tokens_alone_loses_nothing(port: WireRouter, last: dict[str, Any]) -> None:
    answer = await answered(port, "openai/m", chunk({"content": "Hi"}), chunk({}, "stop"), last)

    assert (answer.parts, answer.tokens.output) == ((TextPart(text="Hi"),), 2)


async def test_the_words_of_a_refusal_are_kept(port: WireRouter) -> None:
    pieces = [chunk({"refusal": piece}) for piece in ("I cannot ", "help.")]

    answer = await answered(port, "openai/m", *pieces, chunk({}, "stop"))

    assert (answer.parts, answer.finish) == ((TextPart(text="I cannot help."),), Finish.CONTENT_FILTER)


OVERLOADED = {"code": 502, "message": "Upstream is overloaded", "metadata": {"provider_name": "X", "raw": "busy"}}
BROKEN = {
    "a chunk": {"error": OVERLOADED},
    "OpenRouter's choice": chunk({"content": ""}, "error", error=OVERLOADED),
    "OpenRouter's end": chunk({"content": ""}, "error"),
    "Mistral's chunk": {"object": "error", "message": "Service unavailable.", "type": "unavailable", "code": "1"},
    "DeepSeek's end": chunk({}, "insufficient_system_resource"),
    "Z.ai's end": chunk({}, "network_error"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
async def test_a_failure_in_the_middle_is_tried_again(port: WireRouter, broken: dict[str, Any]) -> None:
    assert isinstance(await failed(port, "openrouter/m", chunk({"content": "Half"}), broken), Retry)


REFUSALS: Mapping[str, tuple[int, Any, type[FailureAction] | StopKind]] = {
    "Mistral's key": (401, {"detail": "Unauthorized"}, StopKind.AUTH),
    "Mistral's model": (400, error_body("Invalid model: x", "invalid_model", "1500"), StopKind.BAD_REQUEST),
    "Mistral's types": (422, error_body({"detail": []}, "invalid_request_error", None), StopKind.BAD_REQUEST),
    "Mistral's capacity": (429, error_body("Service tier capacity exceeded", "service_tier", "3505"), Retry),
    "a gateway": (502, {"message": "Bad gateway"}, Retry),
}


@pytest.mark.parametrize(("status", "body", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refusal_is_classified(
    port: WireRouter, status: int, body: Any, expected: type[FailureAction] | StopKind
) -> None:
    def refuse(*_: object) -> Any:
        raise RefusedRequest(status, body)

    async with serve_double(ProviderDouble(refuse)) as double:
        with pytest.raises(ModelError) as caught:
            await collect_answer(port, asking("mistral/mistral-large-latest", double.url))

    action = classify(caught.value.failure)
    assert (action.kind if isinstance(action, Stop) else type(action)) == expected


@pytest.mark.parametrize("more", [{}, {"native_finish_reason": "model_context_window_exceeded"}])
async def test_a_full_window_is_no_end_of_an_answer(port: WireRouter, more: dict[str, Any]) -> None:
    reason = "length" if more else "model_context_window_exceeded"

    assert isinstance(await failed(port, "zai/glm-4.6", chunk({"content": "Half"}, reason, **more)), Overflow)


async def test_a_call_of_the_old_form_is_one(port: WireRouter) -> None:
    legacy = [{"name": "read", "arguments": ""}, {"arguments": '{"path": '}, {"arguments": '"a"}'}]
    chunks = [chunk({"function_call": each}) for each in legacy]

    answer = await answered(port, "openai/m", *chunks, chunk({}, "function_call"))

    assert (answer.parts, answer.finish) == ((RequestedCall("call_0", "read", '{"path": "a"}'),), Finish.TOOL_CALLS)


COSTS = {
    "OpenRouter": ({"cost": 0.00315}, Decimal("0.00315")),
    "OpenRouter, with the person's own key": ({"cost": 0.0001, "is_byok": True}, None),
    "xAI": ({"cost_in_usd_ticks": 31_500_000}, Decimal("0.00315")),
    "Perplexity": ({"cost": {"total_cost": 0.1}}, Decimal("0.1")),
    "Perplexity, in another form": ({"cost": {"total": 0.1}}, None),
}


@pytest.mark.parametrize(("usage", "cost"), COSTS.values(), ids=COSTS.keys())
async def test_a_cost_is_the_providers(port: WireRouter, usage: dict[str, Any], cost: Decimal | None) -> None:
    end = {**chunk({}, "stop"), "usage": {**USAGE, **usage}}

    assert (await answered(port, "some-provider/m", chunk({"content": "Hi"}), end)).reported_cost == cost


def test_a_model_has_one_dialect_for_all_of_its_requests() -> None:
    first, second = (Endpoint(model="mistral/m", key=SecretStr(key), wire=Wire.CHAT) for key in ("a", "b"))

    assert dialect_of(first) is dialect_of(second)
