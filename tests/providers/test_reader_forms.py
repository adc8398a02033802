"""Forms of failures that servers of each protocol have besides those of its documentation."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from activities.model.failures import ModelError, Overflow, Retry, Stop, StopKind, classify
from activities.model.stream import Answer, AnswerAssembler
from activities.model.wires.answer_reader import AnswerReader
from activities.model.wires.anthropic import AnthropicReader
from activities.model.wires.chat import ChatReader
from activities.model.wires.gemini import GeminiReader
from activities.model.wires.ollama import OllamaReader
from activities.model.wires.sse import EventSplitter

Protocol = Callable[[str], AnswerReader]
LONG: Final = "This model's maximum context length is 4096 tokens"
KEPT: Final = "Trying to keep the first 9 tokens, but the model is loaded with context length of only 4 tokens"
DEEP: Final = '{"error": {"code": 400, "message": "the request exceeds the available context size"}}'


def read(protocol: Protocol, *events: dict[str, Any]) -> Answer:
    reader, assembler = protocol("some"), AnswerAssembler()
    for event in events:
        for added in reader.read(event):
            assembler.add(added)
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
