"""Stored messages as sent to a model, case by case."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from activities.model import port
from activities.model.bound_thoughts import join_entries
from activities.model.input_messages import convert_entries
from tests.cases import Case, load
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    CallState,
    Message,
    Outcome,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.prompt import PromptContent
from workflows.domain.usage import Tokens

NOW, TURN = datetime(2026, 1, 1, tzinfo=UTC), TurnId("trn_1")
STATES = {"pending": CallState.PREPARED, "running": CallState.CLAIMED, "completed": CallState.DONE}


@pytest.mark.parametrize("case", load("model_messages"))
def test_a_model_is_sent_what_opencodes_models_are(case: Case) -> None:
    _, *sent = join_entries("", convert_entries(tuple(stored(case.input["messages"])), "same"))

    assert [*shown(sent)] == [*plain(case.expected)]


def stored(messages: list[dict[str, Any]]) -> Iterator[Message]:
    """A case's messages as rows: one answer per step."""
    for message in messages:
        if message["role"] == "user":
            own = [{name: value for name, value in part.items() if name != "synthetic"} for part in message["parts"]]
            parts = PromptContent.model_validate({"parts": own}).parts
            yield UserMessage(id=MessageId("msg_u"), turn=TURN, step=1, parts=parts, at=NOW)
            continue
        steps: list[list[Part]] = [[]]
        for part in message["parts"]:
            if part["type"] == "step-start":
                steps.append([])
            else:
                steps[-1].append(stored_part(part))
        body = AnswerMetadata(finish="stop", agent="build", model=message["model"], tokens=Tokens(), cost="0")
        for step in steps:
            yield AssistantMessage(id=MessageId("msg_a"), turn=TURN, step=1, body=body, at=NOW, parts=tuple(step))


def stored_part(part: dict[str, Any]) -> Part:
    if part["type"] == "text":
        return TextPart(text=part["text"])
    if part["type"] == "reasoning":
        return ReasoningPart(text=part["text"])
    captured = part.get("state_metadata", {}).get("output")  # ours stands in the outcome itself
    output = captured or part.get("output") or part.get("error")
    return ToolPart(
        id=PartId(part["callID"]),
        provider_id=part["callID"],
        tool=part["tool"],
        arguments=part["input"],
        state=STATES.get(part["status"], CallState.FAILED),
        outcome=None if output is None else Outcome(output=output, error=part["status"] == "error"),
    )


def shown(messages: list[port.InputMessage]) -> Iterator[tuple[str, ...]]:
    """Everything sent, by role and kind; the wire decides which texts of a message are joined."""
    for message in messages:
        match message:
            case port.UserInput():
                yield "user", str(message.content)
            case port.AssistantInput():
                if message.text:
                    yield "assistant", message.text
                for call in message.calls:
                    yield "call", call.id, call.name, json.dumps(json.loads(call.arguments))
            case port.ToolResultInput():
                yield "result", message.call, message.content


def plain(expected: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for message in expected:
        texts = [piece["text"] for piece in message["content"] if piece["type"] == "text"]
        if texts:
            yield message["role"], "\n".join(texts)
        for piece in message["content"]:
            if "providerOptions" in piece:
                yield "options", json.dumps(piece["providerOptions"])
            if piece["type"] == "tool-call":
                yield "call", piece["id"], piece["name"], json.dumps(piece["input"])
            elif piece["type"] == "tool-result":
                yield "result", piece["id"], piece["output"]["value"]
