"""A result by the provider's own means: who gets a schema, in which form, and what becomes of the text."""

from typing import Any

import pytest
from pydantic import JsonValue

from activities.model.endpoint import Endpoint, Wire
from activities.model.port import Finish
from activities.model.request_json import encode_json
from activities.model.result_formats import as_result, own_format
from activities.model.stream import Answer
from activities.model.wires.router import WireRouter
from tests.providers import (
    anthropic_messages,
    bedrock_converse,
    double_outputs,
    google_gemini,
    openai_chat,
    openai_responses,
)
from tests.providers.double_requests import collect_answer, request
from tests.providers.provider_double import serve_double
from workflows.domain.ids import PartId
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat
from workflows.domain.usage import Tokens

CITY: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "notes": {"type": "array", "items": {"type": "string"}}},
    "required": ["city", "notes"],
    "additionalProperties": False,
}
ULM = '{"city": "Ulm", "notes": []}'


@pytest.mark.parametrize(
    ("wire", "model", "given"),
    [
        (Wire.RESPONSES, "openai/gpt-5.3-codex", True),
        (Wire.RESPONSES, "openai/gpt-4o-2024-05-13", False),
        (Wire.CHAT, "azure/gpt-4.1", True),
        (Wire.CHAT, "openai/gpt-5", False),  # a server of one's own, known by its protocol only
        (Wire.CHAT, "openrouter/openai/gpt-5-mini", True),
        (Wire.CHAT, "openrouter/meta-llama/llama-3", False),
        (Wire.CHAT, "groq/openai/gpt-oss-120b", False),
        (Wire.CHAT, "mistral/mistral-large-latest", False),
        (Wire.CHAT, "xai/grok-4.3", True),
        (Wire.RESPONSES, "xai/grok-4-1-fast", True),
        (Wire.CHAT, "xai/grok-3-mini", False),
        (Wire.BEDROCK, "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        (Wire.BEDROCK, "bedrock/us.anthropic.claude-opus-4-6-v1", True),
        (Wire.BEDROCK, "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", False),
        (Wire.BEDROCK, "bedrock/amazon.nova-pro-v1:0", False),
        (Wire.ANTHROPIC, "anthropic/claude-sonnet-4-5-20250929", True),
        (Wire.ANTHROPIC, "anthropic/claude-opus-4-1", False),
        (Wire.GEMINI, "gemini/gemini-3.1-pro-preview", True),
        (Wire.GEMINI, "gemini/gemini-2.5-pro", False),
        (Wire.OLLAMA, "ollama_chat/qwen3", False),
    ],
)
def test_a_schema_goes_to_models_that_take_it_beside_tools(wire: Wire, model: str, given: bool) -> None:
    found = own_format(Endpoint(model=model, wire=wire), OutputFormat(json_schema=CITY))
    assert found == (CITY if given else None)
    assert own_format(Endpoint(model=model, wire=wire), None) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"additionalProperties": True},
        {"required": ["city"]},
        {"properties": {"city": {"type": "string", "minLength": 1}, "notes": {"type": "null"}}},
        {"properties": {"city": {"$ref": "#"}, "notes": {"type": "null"}}},
        {"properties": {"city": {"type": "object"}, "notes": {"type": "null"}}},
        {"type": "array"},
    ],
)
def test_a_schema_that_a_provider_would_refuse_is_left_to_the_tool(changed: dict[str, JsonValue]) -> None:
    endpoint = Endpoint(model="openai/gpt-5", wire=Wire.RESPONSES)
    assert own_format(endpoint, OutputFormat(json_schema=CITY | changed)) is None


async def test_each_wire_sends_the_schema_in_its_own_form(port: WireRouter) -> None:
    strict = {"type": "json_schema", "name": "result", "schema": CITY, "strict": True}
    openai = openai_responses.OpenAI(openai_responses.Answer((openai_responses.Text(ULM),)))
    chat = openai_chat.OpenAIChat(openai_chat.Answer((openai_chat.Text(ULM),)))
    claude = anthropic_messages.Anthropic(anthropic_messages.Answer((anthropic_messages.Text(ULM),)))
    gemini = google_gemini.Gemini(google_gemini.Answer((google_gemini.Text(ULM),)))
    converse = bedrock_converse.Bedrock(double_outputs.Answer((double_outputs.Text(ULM),)))
    config = {"format": {"type": "json_schema", "schema": CITY}}
    structure = {"jsonSchema": {"name": "result", "schema": encode_json(CITY).decode()}}
    cases: list[tuple[Any, Wire, str, str, str, dict[str, Any]]] = [
        (openai, Wire.RESPONSES, "openai/gpt-5", "/v1", openai_responses.KEY, {"text": {"format": strict}}),
        (
            chat,
            Wire.CHAT,
            "openai/gpt-5",
            "/v1",
            openai_chat.KEY,
            {"response_format": {"type": "json_schema", "json_schema": {k: strict[k] for k in list(strict)[1:]}}},
        ),
        (claude, Wire.ANTHROPIC, "anthropic/claude-sonnet-4-5", "", anthropic_messages.KEY, {"output_config": config}),
        (
            converse,
            Wire.BEDROCK,
            f"bedrock/{bedrock_converse.CLAUDE}",
            "",
            bedrock_converse.API_KEY,
            {"outputConfig": {"textFormat": {"type": "json_schema", "structure": structure}}},
        ),
        (
            gemini,
            Wire.GEMINI,
            "gemini/gemini-3.1-pro-preview",
            "/v1beta",
            google_gemini.KEY,
            {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": CITY}},
        ),
    ]
    for service, wire, model, path, key, sent in cases:
        async with serve_double(service.double):
            answer = await collect_answer(port, request(wire, model, f"{service.double.url}{path}", key, format=CITY))
        (body,) = service.double.asked
        for name, value in sent.items():
            assert {**body[name], **value} == body[name], wire
        assert isinstance(as_result(answer).parts[-1], RequestedCall), wire


def test_only_a_whole_object_alone_is_a_result() -> None:
    def shape(*parts: Any, finish: Finish = Finish.STOP) -> tuple[Any, ...]:
        ids = tuple(PartId(f"prt_{place}") for place in range(len(parts)))
        found = as_result(Answer(parts, finish, Tokens(), ids=ids))
        assert len(found.ids) == len(found.parts) and set(found.ids) <= set(ids)
        return found.parts

    thought = ReasoningPart(text="Hm.", details=({"signature": "x"},))
    kept, call = shape(thought, TextPart(text=ULM))
    assert kept == ReasoningPart(text="Hm.") and (call.name, call.arguments) == (STRUCTURED_OUTPUT, ULM)
    spoken = TextPart(text="Looking.", phase="commentary")
    assert [each.arguments for each in shape(spoken, TextPart(text=ULM, phase="final_answer"))] == [ULM]
    other = RequestedCall("c1", "read", "{}")
    for parts in ((TextPart(text=ULM), other), (TextPart(text="I cannot."),), (TextPart(text="[1]"),), (thought,)):
        assert shape(*parts) == parts
    assert shape(TextPart(text=ULM), finish=Finish.LENGTH) == (TextPart(text=ULM),)
