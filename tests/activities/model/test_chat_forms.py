"""Messages for models that refuse what all others take."""

from typing import Any

import pytest

from activities.model.chat_format import build_body
from activities.model.port import AssistantInput, Endpoint, ModelRequest, ToolResultInput, UserInput, Wire
from workflows.domain.messages import RequestedCall

TALK = (
    UserInput(content="go"),
    AssistantInput(parts=(RequestedCall("call_1", "read", "{}"), RequestedCall("abcdefgh1", "read", "{}"))),
    ToolResultInput(call="call_1", content="x"),
    ToolResultInput(call="abcdefgh1", content=" "),
    UserInput(content="Only a."),
)


def sent(model: str, wire: Wire = Wire.LITELLM) -> list[dict[str, Any]]:
    body = build_body(ModelRequest(endpoint=Endpoint(model=model, wire=wire), messages=TALK))
    messages: list[dict[str, Any]] = body["messages"]
    return messages


@pytest.mark.parametrize(
    "model", ["mistral/mistral-large-latest", "openrouter/mistralai/Devstral-Small", "bedrock/mistral.pixtral-large"]
)
def test_mistrals_models_get_ids_and_roles_as_they_want_them(model: str) -> None:
    messages = sent(model)

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    ids = [call["id"] for call in messages[1]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in messages[2:4]]
    assert ids[0].isalnum() and len(ids[0]) == 9 and ids[1] == "abcdefgh1"


def test_a_persons_own_endpoint_gets_them_too() -> None:
    assert [message["role"] for message in sent("openai/devstral", Wire.CHAT)][4:] == ["assistant", "user"]


@pytest.mark.parametrize(
    ("model", "apart"), [("bedrock/us.meta.llama4-scout-17b", True), ("bedrock/anthropic.claude", False)]
)
def test_some_models_of_bedrock_want_results_apart(model: str, apart: bool) -> None:
    assert [message["role"] for message in sent(model)].count("assistant") == 1 + apart


@pytest.mark.parametrize("model", ["groq/llama-3.3-70b-versatile", "openai/gpt-4o"])
def test_others_get_what_was_said(model: str) -> None:
    messages = sent(model)

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[2]["tool_call_id"] == "call_1"


def test_a_blank_result_says_so() -> None:
    assert sent("bedrock/anthropic.claude")[3]["content"] == "(no output)"
