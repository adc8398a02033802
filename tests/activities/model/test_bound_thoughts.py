"""Which thoughts are sent again, as conversations and what is before them change."""

import json
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.model.bound_thoughts import RENDERING, ThoughtBinding
from activities.model.endpoint import Endpoint, Wire
from activities.model.input_messages import convert_entries
from activities.model.model_families import binds_thoughts
from activities.model.port import AssistantInput, InputMessage, ModelRequest
from activities.model.wires import anthropic_request, bedrock_request, chat_request
from tests.providers.preserved_thinking import bound_form
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    CallState,
    Message,
    Outcome,
    ReasoningPart,
    TextPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Tokens

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
TURN: Final = TurnId("trn_1")
WIRES: Final = {
    Wire.ANTHROPIC: "anthropic/claude-opus-5-5",
    Wire.BEDROCK: "bedrock/anthropic.claude-opus-5-5-v1:0",
    Wire.CHAT: "openrouter/anthropic/claude-opus-5.5",
}
PREPARE: Final = {
    Wire.ANTHROPIC: anthropic_request.prepare,
    Wire.BEDROCK: bedrock_request.prepare,
    Wire.CHAT: chat_request.prepare,
}
MODEL: Final = "anthropic/claude-opus-5-5"
TOOL: Final = ToolOffer(name="read", description="Reads.", parameters={"type": "object", "properties": {}})


class Session:
    """A conversation whose every answer thinks and calls."""

    def __init__(self) -> None:
        self.binding = ThoughtBinding(MODEL)
        self.transcript: list[Message] = []
        self.made_after: dict[str, list[str]] = {}  # the thoughts that were sent before each

    def step(self, system: str = "Be brief.", *, prompt: str | None = None, model: str = MODEL) -> list[str]:
        """Ask for an answer; which thoughts were sent."""
        number = len(self.transcript)
        if prompt is not None or not self.transcript:
            text = TextPart(text=prompt or "go")
            self.transcript.append(UserMessage(id=_id(number, 0), turn=TURN, step=1, parts=(text,), at=NOW))
        bound = self.binding.bind(system, (TOOL,), partial(convert_entries, tuple(self.transcript), MODEL))
        thoughts = [part.text for each in _answers(bound.messages) for part in each.thoughts]
        thought, call = f"thought {number}", PartId(f"prt_{number}")
        outcome = Outcome(output=f"{number}: x")
        parts = (
            ReasoningPart(text=thought, details=({"type": "thinking", "thinking": thought, "signature": thought},)),
            ToolPart(
                id=call, provider_id=f"c{number}", tool="read", arguments={}, state=CallState.DONE, outcome=outcome
            ),
        )
        prefix = bound.prefix if model == MODEL else None
        body = AnswerMetadata(finish="stop", agent="a", model=model, tokens=Tokens(), cost=None, prefix=prefix)
        self.transcript.append(AssistantMessage(id=_id(number, 1), turn=TURN, step=1, body=body, at=NOW, parts=parts))
        if model == MODEL:
            self.made_after[thought] = thoughts
        return thoughts


def _id(number: int, place: int) -> MessageId:
    return MessageId(f"msg_{number:04}{place}")


def _answers(messages: tuple[InputMessage, ...]) -> list[AssistantInput]:
    return [each for each in messages if isinstance(each, AssistantInput)]


@given(st.lists(st.sampled_from(["same", "system", "prompt", "other model", "restart", "changed result"]), max_size=9))
def test_a_thought_is_sent_after_just_the_thoughts_that_it_was_made_after(changes: list[str]) -> None:
    session, system = Session(), "Be brief."
    for change in changes:
        more: dict[str, Any] = {}
        match change:
            case "system":
                system = "Be kind." if system == "Be brief." else "Be brief."
            case "prompt":
                more = {"prompt": "and?"}
            case "other model":
                more = {"model": "another/model"}
            case "restart":
                session.binding = ThoughtBinding(MODEL)
            case "changed result" if len(session.transcript) > 1:
                _change_result(session, 1)
        sent = session.step(system, **more)
        for place, thought in enumerate(sent):
            assert session.made_after[thought] == sent[:place]


def _change_result(session: Session, place: int) -> None:
    answer = session.transcript[place]
    assert isinstance(answer, AssistantMessage) and isinstance(call := answer.parts[1], ToolPart)
    changed = call.model_copy(update={"outcome": Outcome(output=f"changed {len(session.transcript)}")})
    session.transcript[place] = answer.model_copy(update={"parts": (answer.parts[0], changed)})


def test_without_changes_all_thoughts_are_sent_and_a_new_worker_finds_the_same() -> None:
    session = Session()
    assert [len(session.step()) for _ in range(3)] == [0, 1, 2]
    session.binding = ThoughtBinding(MODEL)
    assert len(session.step()) == 3


def test_thoughts_stay_out_when_all_is_again_as_it_was_before_them() -> None:
    session = Session()
    systems = ("a", "a", "b", "b", "a", "a")
    assert [len(session.step(each)) for each in systems] == [0, 1, 0, 1, 0, 1]


def test_thoughts_without_a_known_prefix_are_not_sent() -> None:
    session = Session()
    session.step()
    old = session.transcript[-1]
    assert isinstance(old, AssistantMessage)
    body = old.body.model_copy(update={"prefix": None})  # an import's, or from before prefixes were stored
    session.transcript[-1] = old.model_copy(update={"body": body})
    assert [session.step(), len(session.step())] == [[], 1]


@pytest.mark.parametrize(
    ("model", "wire", "bound"),
    [
        ("anthropic/claude-opus-5-5", Wire.ANTHROPIC, True),
        ("anthropic/claude-fable-5-1-20260815", Wire.ANTHROPIC, True),
        ("openrouter/anthropic/claude-opus-5.5", Wire.CHAT, True),
        ("bedrock/us.anthropic.claude-sonnet-6-v1:0", Wire.BEDROCK, True),
        ("vertex_ai/claude-haiku-5-5@20261001", Wire.ANTHROPIC, True),
        ("anthropic/claude-opus-latest", Wire.ANTHROPIC, True),
        ("anthropic/claude-opus-5", Wire.ANTHROPIC, False),
        ("anthropic/claude-opus-5-20260301", Wire.ANTHROPIC, False),
        ("anthropic/claude-sonnet-4-5", Wire.ANTHROPIC, False),
        ("anthropic/claude-3-7-sonnet-20250219", Wire.ANTHROPIC, False),
        ("anthropic/minimax-m3", Wire.ANTHROPIC, False),
        ("openai/gpt-6-sol", Wire.RESPONSES, True),
        ("openai/gpt-5.4", Wire.RESPONSES, False),
        ("deepseek/deepseek-v4", Wire.CHAT, False),
    ],
)
def test_whose_thoughts_are_bound(model: str, wire: Wire, bound: bool) -> None:
    assert binds_thoughts(Endpoint(model=model, wire=wire)) is bound


def test_older_messages_are_rendered_as_when_their_thoughts_were_bound() -> None:
    """If this fails, sessions go on whose thoughts are bound to the former form: raise RENDERING with the digests."""
    session = Session()
    for prompt in (None, "and?", None):
        session.step(prompt=prompt)
    bound = session.binding.bind("Be brief.", (TOOL,), partial(convert_entries, tuple(session.transcript), MODEL))
    found = {}
    for wire, model in WIRES.items():
        asked = ModelRequest(endpoint=Endpoint(model=model, wire=wire), messages=bound.messages, tools=(TOOL,))
        body = json.loads(PREPARE[wire](asked).body)
        found[wire] = sha256(bound_form(body, len(body["messages"]))).hexdigest()[:8]
    assert (RENDERING, found) == (1, {"anthropic": "6f0b08f1", "bedrock": "3351b106", "chat": "c571f77a"})
