"""The last step of a turn on every wire: its history holds calls, so the tools stay, and none may be called."""

from typing import Any

import pytest

from activities.model.endpoint import Wire
from activities.model.port import AssistantInput, InputMessage, ToolResultInput, UserInput
from activities.model.wires.router import WireRouter
from tests.providers import anthropic_messages as messages
from tests.providers import google_gemini as gemini
from tests.providers import openai_responses as responses
from tests.providers.double_requests import GO, READ, collect_answer, request
from tests.providers.provider_double import ProviderDouble, event, serve_double
from workflows.domain.messages import RequestedCall, TextPart

CALL = RequestedCall(id="call_1", name="read", arguments='{"path": "a"}')
TALK: tuple[InputMessage, ...] = (
    *GO,
    AssistantInput(parts=(CALL,)),
    ToolResultInput(call="call_1", content="A file."),
    UserInput(content="No more tools."),
)


pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")  # litellm's


async def asked(
    port: WireRouter, double: ProviderDouble, wire: Wire, model: str, key: str, path: str = ""
) -> dict[str, Any]:
    """The last step's request; the step before sends the same tools."""
    async with serve_double(double):
        before = request(wire, model, f"{double.url}{path}", key, TALK[:-1])
        await collect_answer(port, before)
        last = request(wire, model, f"{double.url}{path}", key, TALK, tool_choice="none")
        assert (await collect_answer(port, last)).parts == (TextPart(text="Done."),)
    assert double.asked[0]["tools"] == double.asked[1]["tools"] and READ.name in str(double.asked[1]["tools"])
    return double.asked[1]


async def test_anthropic(port: WireRouter) -> None:
    service = messages.Anthropic(messages.Answer((messages.Text("Done."),)))

    body = await asked(port, service.double, Wire.ANTHROPIC, "anthropic/claude-opus-4-5", messages.KEY)

    assert body["tool_choice"] == {"type": "none"}


async def test_responses(port: WireRouter) -> None:
    service = responses.OpenAI(responses.Answer((responses.Text("Done."),)))

    body = await asked(port, service.double, Wire.RESPONSES, "openai/gpt-5.3-codex", responses.KEY, "/v1")

    assert body["tool_choice"] == "none"


async def test_gemini(port: WireRouter) -> None:
    service = gemini.Gemini(gemini.Answer((gemini.Text("Done."),)))

    body = await asked(port, service.double, Wire.GEMINI, "gemini/gemini-2.5-pro", gemini.KEY, "/v1beta")

    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}


@pytest.mark.parametrize(
    ("wire", "model"),
    [
        (Wire.CHAT, "openai/llama"),
        (Wire.CHAT, "mistral/mistral-large-latest"),
        (Wire.CHAT, "openrouter/anthropic/claude-opus-4.5"),
        (Wire.LITELLM, "databricks/some-model"),
    ],
)
async def test_chat(port: WireRouter, wire: Wire, model: str) -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m", "created": 1}
    pieces = [
        {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Done."}}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    double = ProviderDouble(lambda *_: [*map(event, pieces), b"data: [DONE]\n\n"])

    body = await asked(port, double, wire, model, "k", "/v1")

    assert body["tool_choice"] == "none"
