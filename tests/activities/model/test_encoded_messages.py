"""The JSON that is kept of a conversation is the JSON that its messages have now."""

import gc
import weakref
from collections.abc import Callable
from typing import TypeAlias

import pytest
from pydantic import SecretStr

from activities.model.encoded_messages import Encoded, Group, MessageEncoder
from activities.model.endpoint import Endpoint, Wire
from activities.model.port import AssistantInput, InputMessage, ModelRequest, SystemInput, ToolResultInput, UserInput
from activities.model.wires import (
    anthropic_request,
    bedrock_request,
    chat_request,
    gemini_request,
    ollama,
    responses_request,
)
from activities.model.wires.wire_request import WireRequest
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart

Prepare: TypeAlias = Callable[[ModelRequest], WireRequest]
Talk: TypeAlias = tuple[InputMessage, ...]

WIRES: list[tuple[Prepare, Wire, str]] = [
    (chat_request.prepare, Wire.CHAT, "own/model"),
    (chat_request.prepare, Wire.CHAT, "own/devstral"),
    (chat_request.prepare, Wire.CHAT, "openrouter/anthropic/claude-sonnet-4.5"),
    (responses_request.prepare, Wire.RESPONSES, "openai/gpt-5"),
    (anthropic_request.prepare, Wire.ANTHROPIC, "anthropic/claude-sonnet-4-5"),
    (gemini_request.prepare, Wire.GEMINI, "gemini/gemini-3-pro"),
    (ollama.prepare, Wire.OLLAMA, "ollama/qwen3"),
    (bedrock_request.prepare, Wire.BEDROCK, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
]
NAMES = [model for _, _, model in WIRES]


def step(number: int, calls: int = 2) -> Talk:
    ids = [f"call_{number}_{each}" for each in range(calls)]
    thought = ReasoningPart(text="Hm.", details=({"type": "thinking", "thinking": "Hm.", "signature": "x"},))
    called = [RequestedCall(id=id, name="read", arguments=f'{{"path": "{number}.txt"}}') for id in ids]
    answer = AssistantInput(parts=(thought, TextPart(text=f"Step {number}."), *called))
    return (answer, *(ToolResultInput(call=id, content=f"contents of {id}") for id in ids))


def begun(steps: int) -> Talk:
    system, prompt = SystemInput(content="Be brief."), UserInput(content="Read them all.")
    return (system, prompt, *(message for number in range(steps) for message in step(number)))


LONG = begun(8)
OTHER = begun(9)
SAID = AssistantInput(parts=(TextPart(text="Done."),))
NOTE = UserInput(content="No more calls.")
CHANGES: dict[str, tuple[Talk, ...]] = {
    "grown by a step": (LONG, (*LONG, *step(8))),
    "asked again": (LONG, LONG),
    "a last note that goes away": ((*LONG, NOTE), (*LONG, *step(8))),
    "a steered prompt that is worded anew": (
        (*LONG, UserInput(content="wrapped: and b")),
        (*LONG, UserInput(content="and b"), *step(8, 5)),
        (*LONG, UserInput(content="and b"), *step(8, 5), *step(9, 5)),
    ),
    "other instructions": (LONG, (SystemInput(content="Be long."), *LONG[1:], *step(8))),
    "an edited beginning": (LONG, (*LONG[:3], ToolResultInput(call="call_0_0", content="cleared"), *LONG[4:])),
    "an edited end": (LONG, (*LONG[:-1], ToolResultInput(call="call_7_1", content="another"))),
    "answers taken back": (LONG, LONG[:8], (*LONG[:8], NOTE, SAID)),
    "taken back to within a turn": (LONG, (*LONG[:12], NOTE), (*LONG[:13], NOTE)),
    "another session in between": (LONG, OTHER, (*LONG, *step(8))),
    "an answer without anything to send": (
        (*LONG, AssistantInput()),
        (*LONG, AssistantInput(), NOTE, SAID, NOTE, SAID),
    ),
    "nothing but the beginning": ((), LONG[:1], LONG[:2], LONG[:4], LONG),
    "a first thought": ((*LONG[:2], SAID, NOTE), (*LONG[:2], SAID, NOTE, *step(0)), (*LONG[:2], SAID, NOTE, *step(1))),
    "prompts without calls": tuple((*LONG, *((SAID, NOTE) * number)) for number in range(4)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("prepare", "wire", "model"), WIRES, ids=NAMES)
def test_a_request_is_the_one_that_a_first_request_would_be(
    prepare: Prepare, wire: Wire, model: str, change: str
) -> None:
    encoder = MessageEncoder()
    for messages in CHANGES[change]:
        anew = prepare(request(wire, model, messages)).body
        assert prepare(request(wire, model, messages, encoder)).body == anew


def test_another_model_or_wire_gets_its_own_form() -> None:
    encoder = MessageEncoder()
    for prepare, wire, model in WIRES * 2:
        anew = prepare(request(wire, model, LONG)).body
        assert prepare(request(wire, model, LONG, encoder)).body == anew


def test_a_long_conversation_is_not_encoded_again() -> None:
    encoder, encoded = MessageEncoder(), list[int]()

    def encode(message: int) -> Encoded:
        encoded.append(message)
        return Group(b"%d:[" % (message % 2)), b"%d" % message

    encoder.encode(tuple(range(1000, 1400)), "form", encode)
    encoded.clear()
    whole = b",".join(encoder.encode(tuple(range(1000, 1402)), "form", encode))

    assert encoded == [1399, 1400, 1401]
    assert whole == b",".join(b"%d:[%d]}" % (number % 2, number) for number in range(1000, 1402))


def test_only_new_messages_are_searched() -> None:
    encoder, asked = MessageEncoder(), list[int]()

    def even(message: int) -> bool:
        asked.append(message)
        return message % 2 == 0

    assert encoder.find((1, 2, 3), even) == (2,)
    assert encoder.find((1, 2, 3, 4), even) == (2, 4)
    assert encoder.find((1, 6), even) == (6,)
    assert asked == [1, 2, 3, 4, 1, 6]


def test_what_is_kept_goes_with_its_owner() -> None:
    encoder = MessageEncoder()
    message = UserInput(content="Go.")
    gone = weakref.ref(message)
    encoder.encode((message, *LONG), "form", lambda _: (None, b"1"))

    del message, encoder
    gc.collect()
    assert gone() is None


def request(wire: Wire, model: str, messages: Talk, encoder: MessageEncoder | None = None) -> ModelRequest:
    endpoint = Endpoint(model=model, base_url="http://127.0.0.1:1", key=SecretStr("key"), wire=wire)
    return ModelRequest(endpoint=endpoint, messages=messages, encoder=encoder or MessageEncoder())
