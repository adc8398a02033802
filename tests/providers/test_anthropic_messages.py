"""The wire to Anthropic, against a double that checks as the service does."""

import json
from dataclasses import replace
from typing import Any

import pytest

from activities.model.endpoint import Wire
from activities.model.failures import Overflow, Retry, Stop, classify
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
from activities.model.wires.anthropic_options import merge_message_options
from activities.model.wires.router import WireRouter
from tests.providers.anthropic_messages import (
    KEY,
    OVERLOADED,
    Answer,
    Anthropic,
    Call,
    Compaction,
    Found,
    Redacted,
    Search,
    Text,
    Thought,
)
from tests.providers.double_requests import GO, collect_answer
from tests.providers.double_requests import request as asking
from tests.providers.provider_double import Disconnect, serve_double
from tests.providers.write_release_models import read_litellm_table
from workflows.domain.errors import ModelError
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import Tokens

THINKING: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
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
        again = AssistantInput(parts=first.parts)
        picture = UserInput(content=(TextPiece(text="It shows:"), ImagePiece(url="data:image/png;base64,AAAA")))
        talk = (SystemInput(content="Be brief."), *GO, again, ToolResultInput(call=call.id, content="x"), picture)
        last = await collect_answer(port, request(service, talk, options=THINKING))

    assert first.finish is Finish.TOOL_CALLS
    assert first.tokens == Tokens(total=125, input=10, output=15, cache_read=80, cache_write=20)
    assert last.parts == (TextPart(text="Done."),)


PAUSED = Answer(
    (Text("I search."), Search("a"), Found(), Search("b")),
    stop_reason="pause_turn",
    end={"container": {"id": "container_1", "expires_at": "2026-12-01T00:00:00Z"}},
)


@pytest.mark.parametrize("options", [{}, THINKING])
async def test_an_answer_that_the_provider_has_paused_in_goes_back_with_its_blocks(
    port: WireRouter, options: dict[str, Any]
) -> None:
    thought = (Thought("Hm."),) if options else ()
    service = Anthropic(replace(PAUSED, output=(*thought, *PAUSED.output)), Answer((Found(), Text("Done."))))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service, options=options))
        again = (*GO, AssistantInput(parts=first.parts))
        second = await collect_answer(port, request(service, again, options=options))
        both = (*again, AssistantInput(parts=second.parts), *GO)
        await collect_answer(port, request(service, both, options=options))

    assert (first.finish, second.finish) == (Finish.PAUSE, Finish.STOP)
    assert [part.text for part in (*first.parts, *second.parts) if isinstance(part, TextPart)] == ["I search.", "Done."]
    assert [body.get("container") for body in service.double.asked] == [None, "container_1", None]
    searched = ["server_tool_use", "web_search_tool_result"] * 2
    sent = [block["type"] for block in service.double.asked[2]["messages"][1]["content"]]
    assert sent == [*["thinking"] * len(thought), "text", *searched, "text"]


async def test_a_prompt_ends_the_work_that_the_provider_has_paused_in(port: WireRouter) -> None:
    service = Anthropic(PAUSED, Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service))
        await collect_answer(port, request(service, (*GO, AssistantInput(parts=first.parts), *GO)))

    _, said, _ = service.double.asked[1]["messages"]
    assert [block["type"] for block in said["content"]] == ["text", "server_tool_use", "web_search_tool_result"]


async def test_the_providers_own_summary_goes_back_to_it(port: WireRouter) -> None:
    service = Anthropic(Answer((Compaction("So far: a."),), stop_reason="compaction"), Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service))
        await collect_answer(port, request(service, (*GO, AssistantInput(parts=first.parts), *GO)))

    assert first.finish is Finish.PAUSE
    assert service.double.asked[1]["messages"][1]["content"] == [{"type": "compaction", "content": "So far: a."}]


async def test_why_an_answer_was_refused_is_told(port: WireRouter) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It could enable harm."}
    service = Anthropic(Answer((), stop_reason="refusal", end={"stop_details": details}))
    async with serve_double(service.double):
        answer = await collect_answer(port, request(service))
    assert (answer.finish, answer.explanation) == (Finish.CONTENT_FILTER, "cyber: It could enable harm.")


async def test_thoughts_between_calls_go_back_in_their_places(port: WireRouter) -> None:
    calls = Call("read", '{"path": "a"}'), Call("read", "")
    service = Anthropic(Answer((Thought("a"), Redacted(), Text("So:"), calls[0], Thought("b"), calls[1], Thought("c"))))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service, options=THINKING))
        results = (ToolResultInput(call=call.id, content="x") for call in first.calls)
        await collect_answer(
            port, request(service, (*GO, AssistantInput(parts=first.parts), *results), options=THINKING)
        )

    _, said, answered = service.double.asked[1]["messages"]
    kinds = [block["type"] for block in said["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "thinking", "tool_use"]
    assert [block["type"] for block in answered["content"]] == ["tool_result"] * 2


async def test_a_turn_that_another_model_has_begun_goes_on_without_thinking(port: WireRouter) -> None:
    made = RequestedCall(id="functions.read:0", name="read", arguments='{"path": "a"}')
    talk = (*GO, AssistantInput(parts=(made,)), ToolResultInput(call=made.id, content="x"))
    service = Anthropic(READS)
    async with serve_double(service.double):
        await collect_answer(port, request(service, talk, options=THINKING))
        await collect_answer(
            port, request(service, (*talk, AssistantInput(parts=(TextPart(text="Hm."),)), *GO), options=THINKING)
        )

    assert ["thinking" in body for body in service.double.asked] == [False, True]


async def test_a_turn_thinks_on_after_a_step_without_thoughts(port: WireRouter) -> None:
    steered = UserInput(content="Only a.")
    service = Anthropic(READS, Answer((Call("read", '{"path": "b"}'),)), Answer((Text("Done."),)))
    talk = GO
    async with serve_double(service.double):
        for _ in range(2):
            step = await collect_answer(port, request(service, talk, options=THINKING))
            results = (ToolResultInput(call=call.id, content="x") for call in step.calls)
            talk = (*talk, AssistantInput(parts=step.parts), *results, steered)
        last = await collect_answer(port, request(service, talk, options=THINKING))

    assert last.parts == (TextPart(text="Done."),)
    assert ["thinking" in body for body in service.double.asked] == [True, True, True]


@pytest.mark.parametrize("options", [{}, {"thinking": {"type": "disabled"}}])
async def test_a_turn_that_thinks_no_more_goes_on_without_its_thoughts(
    port: WireRouter, options: dict[str, Any]
) -> None:
    service = Anthropic(READS, Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service, options=THINKING))
        results = (ToolResultInput(call=call.id, content="x") for call in first.calls)
        talk = (*GO, AssistantInput(parts=first.parts), *results)
        assert (await collect_answer(port, request(service, talk, options=options))).parts == (TextPart(text="Done."),)


async def test_a_step_of_many_calls_keeps_the_mark_of_the_request_before(port: WireRouter) -> None:
    service = Anthropic(Answer((Call("read", "{}"),) * 21), Answer((Text("Done."),)))
    async with serve_double(service.double):
        first = await collect_answer(port, request(service))
        results = (ToolResultInput(call=call.id, content="x") for call in first.calls)
        await collect_answer(port, request(service, (*GO, AssistantInput(parts=first.parts), *results)))

    marked = [
        [place for place, block in enumerate(message["content"]) if "cache_control" in block]
        for message in service.double.asked[1]["messages"]
    ]
    assert marked == [[0], [], [20]]


BETWEEN_CALLS = "interleaved-thinking-2025-05-14"
LONG = "context-1m-2025-08-07"
DROPS = "thinking-binding-controls-2026-08-01"
BOUND: dict[str, Any] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
ADAPTIVE: dict[str, Any] = {**BOUND, "display": "summarized"}
UNBOUND: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
ERROR: dict[str, Any] = {"prefixMismatchBehavior": "error"}
REFUSES: dict[str, Any] = {**UNBOUND, "block_binding": {"prefix_mismatch_behavior": "error"}}
QUIET: dict[str, Any] = {**BOUND, "display": "omitted"}
OFF: dict[str, Any] = {"thinking": {"type": "disabled"}}
BETWEEN: dict[str, Any] = {"thinking": {"type": "between_tools"}}
OPTIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *(
        (model, {}, {"thinking": ADAPTIVE})
        for model in ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-opus-6")
    ),
    *((model, {}, {}) for model in ("claude-opus-4-5", "claude-opus-4-8", "claude-sonnet-5")),
    ("claude-opus-5-5", {"effort": "low"}, {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
    ("claude-opus-5-5", OFF, {"thinking": ADAPTIVE}),
    ("claude-opus-5-5", {"reasoningEffort": "none"}, {"thinking": ADAPTIVE}),
    ("claude-opus-5-5", {"thinking": {"type": "adaptive", "display": "omitted"}}, {"thinking": QUIET}),
    ("claude-sonnet-5-5", OFF, BETWEEN),
    ("claude-sonnet-5-5", {**OFF, "effort": "high"}, {**BETWEEN, "output_config": {"effort": "high"}}),
    ("claude-sonnet-5-5", {**OFF, "effort": "max"}, {"thinking": ADAPTIVE, "output_config": {"effort": "max"}}),
    ("claude-haiku-5-5", OFF, OFF),
    ("claude-haiku-5-5", {"reasoningEffort": "none"}, OFF),
    ("claude-opus-5", OFF, OFF),
    ("claude-sonnet-4-5", {"reasoning_effort": "high"}, {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
    ("claude-opus-5-5", {"reasoningEffort": "high"}, {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
    ("claude-opus-5-5", THINKING, {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}}),
    ("claude-opus-5-5", {"temperature": 0.5, "topP": 0.5}, {"thinking": ADAPTIVE}),
    ("claude-opus-5-5", {"thinking": {"type": "adaptive", "blockBinding": False}}, {"thinking": UNBOUND}),
    ("claude-opus-5-5", {"thinking": {"type": "adaptive", "blockBinding": ERROR}}, {"thinking": REFUSES}),
    ("claude-mythos-5-1", {}, {"thinking": UNBOUND}),  # which takes no such wish
    ("claude-sonnet-4-5", {"topP": 0.5, "user": "u"}, {"top_p": 0.5, "metadata": {"user_id": "u"}}),
    ("claude-sonnet-4-5", {"temperature": 0.5, **THINKING}, THINKING),
    ("claude-sonnet-4-5", {"stop": "x"}, {"stop_sequences": ["x"]}),
    ("claude-sonnet-4-5", {"seed": 7, "frequency_penalty": 0.1, "presence_penalty": 0.1, "logit_bias": {}, "n": 1}, {}),
    ("claude-sonnet-4-5", {"response_format": {"type": "text"}, "parallel_tool_calls": True}, {}),
    ("claude-sonnet-4-5", {"verbosity": "low", "store": False, "prompt_cache_key": "k"}, {}),
    (
        "claude-sonnet-4-5",
        {"parallel_tool_calls": False},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
]


@pytest.mark.parametrize(("model", "options", "sent"), OPTIONS)
async def test_options_stand_where_this_api_wants_them(
    port: WireRouter, model: str, options: dict[str, Any], sent: dict[str, Any]
) -> None:
    service = Anthropic(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        await collect_answer(port, request(service, model=model, options=spell(options, Wire.ANTHROPIC)))

    plain = {"model", "messages", "max_tokens", "tools", "stream"}
    assert {name: value for name, value in service.double.asked[0].items() if name not in plain} == sent


@pytest.mark.parametrize(
    ("model", "options", "headers", "sent"),
    [
        ("claude-sonnet-4-5", THINKING, {}, BETWEEN_CALLS),
        ("claude-sonnet-4-5", {**THINKING, "anthropicBeta": [LONG]}, {}, BETWEEN_CALLS + "," + LONG),
        ("claude-sonnet-4-5", {**THINKING, "anthropicBeta": [LONG]}, {"Anthropic-Beta": "mine"}, "mine"),
        ("claude-sonnet-4-5", {"anthropicBeta": LONG}, {}, LONG),
        ("claude-sonnet-4-5", {}, {}, None),
        ("claude-opus-5-5", THINKING, {}, DROPS),  # thinks between calls unasked
        ("glm-5", THINKING, {}, None),
    ],
)
async def test_claude_is_let_think_between_calls_and_betas_are_named_in_a_header(
    port: WireRouter, model: str, options: dict[str, Any], headers: dict[str, str], sent: str | None
) -> None:
    service = Anthropic(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        asked = request(service, model=model, options=options)
        await collect_answer(port, replace(asked, endpoint=asked.endpoint.model_copy(update={"headers": headers})))

    assert service.double.headers[0].get("anthropic-beta") == sent


async def test_a_failed_call_is_marked_as_failed(port: WireRouter) -> None:
    talk: list[InputMessage] = [*GO]
    for id, output, failed in (("a", "Fine.", False), ("b", "No such file.", True), ("c", " ", True)):
        made = AssistantInput(parts=(RequestedCall(id=id, name="read", arguments="{}"),))
        talk += [made, ToolResultInput(call=id, content=output, failed=failed)]
    service = Anthropic(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        await collect_answer(port, request(service, tuple(talk)))

    results = [message["content"][0] for message in service.double.asked[0]["messages"][2::2]]
    assert [result.get("is_error") for result in results] == [None, True, None]  # an error may not be empty


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"tool_choice": "required"}, {"type": "any", "disable_parallel_tool_use": True}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tools": ()}, None),
    ],
)
async def test_one_call_at_a_time_keeps_the_choice_of_tools(
    port: WireRouter, more: dict[str, Any], sent: dict[str, Any] | None
) -> None:
    service = Anthropic(Answer((Text("Hi"),)))
    async with serve_double(service.double):
        await collect_answer(port, request(service, options={"parallel_tool_calls": False}, **more))

    assert service.double.asked[0].get("tool_choice") == sent


def test_models_think_by_effort_that_do_so_in_litellms_table() -> None:
    entries = read_litellm_table().items()
    table = {name: entry for name, entry in entries if entry.get("litellm_provider") == "anthropic"}
    forms = {
        name: merge_message_options({"model": name}, THINKING, began_without_thought=False)["thinking"]["type"]
        for name in table
    }
    legacy = {name for name, entry in table.items() if not entry.get("supports_adaptive_thinking")}
    legacy |= {name for name, entry in table.items() if entry.get("supports_legacy_thinking")}
    assert {name for name, form in forms.items() if form == "enabled"} == legacy


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
        ("pause_turn", Finish.PAUSE),
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
    stray = {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta"}}
    service = Anthropic(Answer((b"data: " + json.dumps(stray).encode() + b"\n\n",)))
    async with serve_double(service.double):
        with pytest.raises(ModelError, match="not part of an answer") as caught:
            await collect_answer(port, request(service))
    assert caught.value.failure.begun


async def test_a_refusal_keeps_the_words_of_the_service(port: WireRouter) -> None:
    orphan = (*GO, ToolResultInput(call="toolu_9", content="x"))
    service = Anthropic(READS)
    async with serve_double(service.double):
        with pytest.raises(ModelError, match="unexpected `tool_use_id` found") as caught:
            await collect_answer(port, request(service, orphan))
    assert isinstance(classify(caught.value.failure), Stop)
