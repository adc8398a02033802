"""Forms of answers and failures that servers of each protocol have besides those of its documentation."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pytest

from activities.model.failures import Overflow, Retry, Stop, StopKind, classify
from activities.model.port import Finish
from activities.model.stream import Answer, AnswerAssembler
from activities.model.wires.answer_reader import AnswerReader
from activities.model.wires.anthropic import AnthropicReader
from activities.model.wires.bedrock import ConverseReader
from activities.model.wires.chat import ChatReader
from activities.model.wires.gemini import GeminiReader
from activities.model.wires.ollama import OllamaReader
from activities.model.wires.sse import EventSplitter
from workflows.domain.errors import ModelError
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart

Protocol = Callable[[str], AnswerReader]
LONG: Final = "This model's maximum context length is 4096 tokens"
KEPT: Final = "Trying to keep the first 9 tokens, but the model is loaded with context length of only 4 tokens"
DEEP: Final = '{"error": {"code": 400, "message": "the request exceeds the available context size"}}'


def read(protocol: Protocol, *events: dict[str, Any]) -> Answer:
    reader, assembler = protocol("some"), AnswerAssembler()
    added, failure = reader.read(events)
    if failure is not None:
        raise failure
    for each in added:
        assembler.add(each)
    assembler.add(reader.finish())
    return assembler.answer()


FAILURES: Final[list[tuple[Protocol, Any, type[Overflow] | type[Retry] | StopKind, str]]] = [
    # a text instead of an object
    *((protocol, {"error": LONG}, Overflow, LONG) for protocol in (ChatReader, GeminiReader, OllamaReader)),
    (ChatReader, {"error": KEPT}, Overflow, KEPT),  # LM Studio
    (ChatReader, {"error": "The model has crashed"}, Retry, "The model has crashed"),
    (ChatReader, {"error": DEEP}, Overflow, "the request exceeds the available context size"),
    (ChatReader, {"error": {"error": {"message": LONG}}}, Overflow, LONG),
    (AnthropicReader, {"type": "error", "error": LONG}, Overflow, LONG),
    (AnthropicReader, {"type": "error", "message": LONG}, Overflow, LONG),
    (AnthropicReader, {"error": {"message": LONG}}, Overflow, LONG),
    (AnthropicReader, {"detail": LONG}, Overflow, LONG),
    # no `error` at all: FastAPI's servers, Cerebras, vLLM
    (ChatReader, {"detail": "internal boom"}, Retry, "internal boom"),
    (ChatReader, {"message": LONG, "type": "x", "code": "y"}, Overflow, LONG),
    (ChatReader, {"object": "error", "message": LONG, "type": "BadRequestError", "code": 400}, Overflow, LONG),
    (GeminiReader, {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}, Retry, "slow down"),
    # the status as text: litellm's proxy; by another name: Groq
    (
        ChatReader,
        {"error": {"message": "No such tool", "type": "None", "code": "400"}},
        StopKind.BAD_REQUEST,
        "No such",
    ),
    (ChatReader, {"error": {"message": "Busy", "code": "503"}}, Retry, "Busy"),
    (ChatReader, {"error": {"message": "No key", "status_code": 401}}, StopKind.AUTH, "No key"),
    (ChatReader, {"choices": [], "x_groq": {"id": "req_1", "error": "over capacity"}}, Retry, "over capacity"),
    (ChatReader, {"base_resp": {"status_code": 1027, "status_msg": "sensitive"}}, StopKind.CONTENT, "sensitive"),
    # a form that is none: all of it is shown
    (ChatReader, {"error": {"message": ["Boom"]}}, Retry, '{"message": ["Boom"]}'),
    (OllamaReader, {"error": {"message": LONG}}, Overflow, LONG),
]


@pytest.mark.parametrize(("protocol", "event", "expected", "words"), FAILURES)
def test_a_failure_is_understood(
    protocol: Protocol, event: Any, expected: type[Overflow] | type[Retry] | StopKind, words: str
) -> None:
    with pytest.raises(ModelError) as caught:
        read(protocol, event)

    failure = caught.value.failure
    action = classify(failure)
    assert (action.kind if isinstance(action, Stop) else type(action)) == expected
    assert words in f"{failure.message} {failure.quote}"


def test_a_failure_may_come_in_a_list() -> None:
    """As Vertex AI's do."""
    (event,) = EventSplitter("some").feed(b'data: [{"error": {"code": 503, "message": "busy"}}]\n\n')

    with pytest.raises(ModelError, match="busy"):
        read(GeminiReader, event)


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def calls(*pieces: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return (*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls"))


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return (
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    )


def converse(name: str, **content: Any) -> dict[str, Any]:
    return {name: {"contentBlockIndex": 0, **content}}


CHAT_STOP: Final = chunk({}, "stop")
END: Final = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
HI: Final = block(1, {"type": "text"}, {"type": "text_delta", "text": "Hi"})
INPUT: Final = {"type": "input_json_delta", "partial_json": '{"a": 1}'}
READ: Final = RequestedCall("a", "read", '{"a": 1}')
TEXT: Final = (TextPart(text="Hi"),)
BEGUN: Final[dict[str, Any]] = {
    "index": 0,
    "id": "a",
    "type": "function",
    "function": {"name": "read", "arguments": ""},
}
PIECE: Final[dict[str, Any]] = {"index": 0, "function": {"arguments": '{"a": 1}'}}


@dataclass(frozen=True)
class Form:
    """Events and the parts that they give; `source` says whose they are."""

    source: str
    protocol: Protocol
    events: tuple[dict[str, Any], ...]
    parts: tuple[object, ...]


SEARCH: Final[dict[str, Any]] = {"type": "server_tool_use", "id": "s", "name": "web_search"}
FORMS: Final = (
    Form(
        "the first piece of a call without its function",
        *(
            ChatReader,
            calls({"index": 0, "id": "a"}, {**PIECE, "function": {**BEGUN["function"], **PIECE["function"]}}),
        ),
        (READ,),
    ),
    Form("a piece with no function", ChatReader, calls(BEGUN, PIECE, {"index": 0, "function": None}), (READ,)),
    Form("an index as text", ChatReader, calls({**BEGUN, "index": "0"}, PIECE), (READ,)),
    Form(
        "jin-bo/agentao 117: an index in the first piece only",
        ChatReader,
        calls({**BEGUN, "id": "b"}, PIECE, {**BEGUN, "index": 1}, {"function": PIECE["function"]}),
        (RequestedCall("b", "read", '{"a": 1}'), READ),
    ),
    Form(
        "openai/openai-agents-js 712: gateways to Bedrock",
        ChatReader,
        calls({**BEGUN, "function": {"name": "read", "arguments": "{}"}}, PIECE),
        (READ,),
    ),
    Form(
        "unslothai/unsloth 10275: an empty object first",
        ChatReader,
        calls({**BEGUN, "function": {"name": "read", "arguments": {}}}, PIECE),
        (READ,),
    ),
    Form(
        "QuantumNous/new-api 3326: null arguments at the end",
        ChatReader,
        calls(BEGUN, PIECE, {"index": 0, "function": {"arguments": None}}),
        (READ,),
    ),
    Form(
        "BerriAI/litellm 12513: the name `null` in later pieces",
        ChatReader,
        calls(BEGUN, {"index": 0, "id": "", "function": {"name": "null", "arguments": '{"a": 1}'}}),
        (READ,),
    ),
    Form(
        "CangShui/workbuddy-gateway 3: an empty function_call at the end, and empty finish reasons",
        ChatReader,
        (chunk({"content": "Hi"}, ""), chunk({"function_call": {"name": "", "arguments": ""}}, "stop")),
        TEXT,
    ),
    Form("a server that does not stream", ChatReader, ({"choices": [{"message": {"content": "Hi"}}]}, CHAT_STOP), TEXT),
    Form(
        "docs.perplexity.ai, streaming: all so far in each chunk",
        ChatReader,
        (
            {"choices": [{"delta": {"content": "H"}, "message": {"content": "H"}}]},
            {"choices": [{"delta": {"content": "i"}, "message": {"content": "Hi"}}]},
            {"choices": [{"delta": {}, "message": {"content": "Hi"}, "finish_reason": "stop"}]},
        ),
        TEXT,
    ),
    Form(
        "GCWing/OpenBitFun 792: MiniMax repeats all at the end",
        ChatReader,
        (
            chunk({"role": "", "content": "Hi"}, usage={"total_tokens": 0}),
            {"object": "chat.completion", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
        ),
        TEXT,
    ),
    Form(
        "can1357/oh-my-pi 2434: MiniMax thinks in a member and in the content",
        ChatReader,
        (
            chunk({"content": "<think>\nHm", "reasoning_content": "\nHm"}),
            chunk({"content": "m</think>Hi", "reasoning_content": "m"}),
            CHAT_STOP,
        ),
        (ReasoningPart(text="\nHmm", details=({"field": "<think>"},)), *TEXT),
    ),
    Form(
        "choices that were not asked for",
        ChatReader,
        (
            {"choices": [{"index": 1, "delta": {"content": "B"}}, {"index": 0, "delta": {"content": "Hi"}}]},
            {"choices": [{"index": 1, "delta": {"content": "B"}}]},
            CHAT_STOP,
        ),
        TEXT,
    ),
    Form("a text block without text", AnthropicReader, (*HI, END), TEXT),
    *(
        Form(source, AnthropicReader, (*block(0, {"type": "text", "text": begun}, *deltas), END), TEXT)
        for source, begun, deltas in (
            ("can1357/oh-my-pi 8319: a beginning in a block's start", "H", ({"type": "text_delta", "text": "i"},)),
            ("cline/cline 9215: MiniMax repeats it", "Hi", ({"type": "text_delta", "text": "Hi"},)),
            ("a text in a block's start alone", "Hi", ()),
        )
    ),
    Form(
        "Kimi's Anthropic API: a thought's signature is null at first",
        AnthropicReader,
        (
            *block(
                0,
                {"type": "thinking", "signature": None},
                {"type": "thinking_delta", "thinking": "Hm"},
                {"type": "signature_delta", "signature": "S"},
            ),
            END,
        ),
        (ReasoningPart(text="Hm", details=({"type": "thinking", "signature": "S", "thinking": "Hm"},)),),
    ),
    Form(
        "a thought that does not begin",
        AnthropicReader,
        (*block(0, {"type": "x"}, {"type": "thinking_delta", "thinking": "Hm"}), END),
        (ReasoningPart(text="Hm"),),
    ),
    Form(
        "a call that Anthropic carries out",
        AnthropicReader,
        (*block(0, {**SEARCH, "input": {}}, INPUT), *HI, END),
        (ReasoningPart(text="", details=({**SEARCH, "input": {"a": 1}},)), *TEXT),
    ),
    *(
        Form(
            "a call's input as a whole, as text, and in pieces again",
            AnthropicReader,
            (*block(0, {"type": "tool_use", "id": "a", "name": "read", "input": input}, *deltas), END),
            (READ,),
        )
        for input, deltas in (({"a": 1}, ()), ('{"a": 1}', ()), ({"a": 1}, (INPUT,)), ({}, (INPUT,)))
    ),
    Form(
        "a call without a stop of its block",
        AnthropicReader,
        (*block(0, {"type": "tool_use", "id": "a", "name": "read", "input": {"a": 1}})[:1], END),
        (READ,),
    ),
    Form(
        "a call that Bedrock carries out",
        ConverseReader,
        (
            converse(
                "contentBlockStart", start={"toolUse": {"toolUseId": "s", "name": "x", "type": "server_tool_use"}}
            ),
            converse("contentBlockDelta", delta={"toolUse": {"input": "{}"}}),
            converse("contentBlockDelta", delta={"text": "Hi"}),
            {"messageStop": {"stopReason": "end_turn"}},
        ),
        TEXT,
    ),
    Form(
        "arguments as text",
        GeminiReader,
        (
            {
                "candidates": [
                    {
                        "content": {"parts": [{"functionCall": {"id": "a", "name": "read", "args": '{"a": 1}'}}]},
                        "finishReason": "STOP",
                    }
                ]
            },
        ),
        (READ,),
    ),
    Form(
        "arguments as text",
        OllamaReader,
        (
            {
                "message": {"tool_calls": [{"id": "a", "function": {"name": "read", "arguments": '{"a": 1}'}}]},
                "done": True,
            },
        ),
        (READ,),
    ),
    Form(
        "an end without a message",
        OllamaReader,
        ({"message": {"content": "Hi"}}, {"done": True, "done_reason": "stop"}),
        TEXT,
    ),
)


@pytest.mark.parametrize("form", FORMS, ids=[f"{form.protocol.__name__}: {form.source}" for form in FORMS])
def test_an_answer_is_understood(form: Form) -> None:
    answer = read(form.protocol, *form.events)

    assert answer.parts == form.parts
    assert answer.finish in ("stop", "tool-calls")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("eos_token", Finish.STOP),  # huggingface/text-generation-inference 2344
        ("end", Finish.STOP),  # earendil-works/pi 2107
        ("end_turn", Finish.STOP),  # ferro-labs/ai-gateway 142, as those below
        ("COMPLETE", Finish.STOP),
        ("MAX_TOKENS", Finish.LENGTH),
        ("tool_use", Finish.TOOL_CALLS),
        ("abort", Finish.UNKNOWN),
    ],
)
def test_a_gateway_may_pass_another_protocols_finish_reason_on(reason: str, finish: Finish) -> None:
    assert read(ChatReader, chunk({"content": "Hi"}, reason)).finish is finish


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        *(({"cost": cost}, None) for cost in (True, "much", -1, 10**9, 0, [1], float("nan"))),
        *(({"cost_in_usd_ticks": ticks}, None) for ticks in (-(10**12), 10**30, "x", None)),
        ({"cost": 0.25}, Decimal("0.25")),
        ({"cost": "0.25"}, Decimal("0.25")),
        ({"cost_in_usd_ticks": 10**10}, Decimal(1)),
    ],
)
def test_only_a_believable_cost_counts(usage: dict[str, Any], cost: Decimal | None) -> None:
    assert read(ChatReader, chunk({"content": "Hi"}, "stop", usage=usage)).reported_cost == cost


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ({"input_tokens": 100, "output_tokens": 0}, {"input_tokens": 0, "output_tokens": 30}),  # SGLang
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 100, "output_tokens": 30}),  # Z.ai
        ({"input_tokens": 90, "output_tokens": 1}, {"input_tokens": 100, "output_tokens": 30}),
    ],
)
def test_tokens_count_wherever_a_server_of_anthropics_protocol_names_them(
    start: dict[str, int], end: dict[str, int]
) -> None:
    tokens = read(
        AnthropicReader, {"type": "message_start", "message": {"usage": start}}, *HI, {**END, "usage": end}
    ).tokens

    assert (tokens.prompt, tokens.output) == (100, 30)


def test_a_compaction_on_the_server_is_billed_and_not_in_the_context() -> None:
    iterations = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1000},
    ]
    usage = {"input_tokens": 23_000, "output_tokens": 1000, "iterations": iterations}

    tokens = read(AnthropicReader, *HI, {**END, "usage": usage}).tokens

    assert (tokens.prompt, tokens.output, tokens.context) == (203_000, 4500, 24_000)


def test_what_claude_thought_is_counted_as_reasoning() -> None:
    usage = {"input_tokens": 9, "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 30}}

    tokens = read(AnthropicReader, *HI, {**END, "usage": usage}).tokens

    assert (tokens.output, tokens.reasoning, tokens.context) == (20, 30, 59)


@pytest.mark.parametrize("odd", [-1, 0.5, "much", {}], ids=str)
def test_odd_details_of_tokens_cost_no_answer(odd: Any) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"audio_tokens": odd}}

    answer = read(ChatReader, {**chunk({"content": "Hi"}, "stop", usage=usage), "service_tier": ["odd"]})

    assert answer.parts == (TextPart(text="Hi"),)
