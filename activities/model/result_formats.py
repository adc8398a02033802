"""Which models give a turn's result by their provider's own means: a text that it holds to the schema.

They are offered the tool for it, too: a text without calls then is the result. Only the tool is left where a schema
beside tools is refused (Groq: "Streaming and tool use are not currently supported with Structured Outputs"; Gemini 2.5)
or forbids calls (Ollama's issue 8095), and where no page says that calls stay possible (Mistral, most of Bedrock's).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from uuid import uuid4

from pydantic import JsonValue

from activities.model.endpoint import Endpoint
from activities.model.port import Finish
from activities.model.stream import Answer
from workflows.domain.answer_text import texts_of
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat

# Services ("WIRE:PROVIDER", as in model_families) and models.
_ROWS: Final = tuple(
    (re.compile(services), re.compile(models))
    for services, models in (
        # OpenAI, "Structured model outputs": "supported with gpt-4o-mini, gpt-4o-2024-08-06 and later"
        (r"(chat|responses):(openai|azure)", r"gpt-(4o(?!-2024-05)|4[.-]1|([5-9]|\d\d)(?!.*-chat))|o[1-9](?!-mini)"),
        # OpenRouter, "Structured Outputs": for OpenAI's models, among others
        (r"chat:openrouter", r"openai/(gpt-(4o(?!-2024-05)|4[.-]1|([5-9]|\d\d)(?!.*-chat))|o[1-9](?!-mini))"),
        # Anthropic, "Structured outputs": Claude Sonnet 4.5, Opus 4.5, Haiku 4.5 and later
        (
            r"anthropic:anthropic",
            r"claude-(opus|sonnet|haiku)-(4[-.]([5-9]|\d\d)|[5-9]|\d\d)(?!\d)|claude-(fable|mythos)-",
        ),
        # xAI, "Structured Outputs with Tools": "only available for supported Grok 4 family models"
        (r"(chat|responses):xai", r"grok-4"),
        # AWS, "Get validated JSON results from models" and "Claude Messages: structured outputs". Not Claude Haiku 4.5,
        # which refuses a schema in some accounts (vercel/ai 19988), nor later models, which AWS's page does not mention
        (r"bedrock:bedrock", r"claude-(sonnet-4-5|opus-4-[56])(?!\d)"),
        # Google, "Structured outputs with tools": "Gemini 3 series models", functions included
        (r"gemini:(gemini|vertex_ai)", r"gemini-([3-9]|\d\d)(?!.*image)"),
    )
)
# What OpenAI's strict schemas and Anthropic's have in common. Where a schema is outside, they refuse the request.
_WORDS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description", "title"}
)
_PLAIN_TYPES: Final = ("string", "number", "integer", "boolean", "null")
_MOST_DEPTH: Final = 5  # levels, OpenAI's first limit


def own_format(endpoint: Endpoint, format: OutputFormat | None) -> Mapping[str, JsonValue] | None:
    """The schema for the provider; None: it gets none."""
    if format is None or not _is_enforceable(format.json_schema):
        return None
    service, model = f"{endpoint.wire}:{endpoint.provider}", (endpoint.behind or endpoint.name).lower()
    fits = any(services.fullmatch(service) and models.search(model) for services, models in _ROWS)
    return format.json_schema if fits else None


def as_result(answer: Answer) -> Answer:
    """A text without calls that is an object is the result: the arguments of the call that gives it, and has the text's
    id. What its provider keeps of its thoughts belongs to the text, and is left out."""
    text = "".join(texts_of(answer.parts))
    if answer.calls or answer.finish is not Finish.STOP or not _is_object(text):
        return answer
    thoughts = (ReasoningPart(text=part.text) for part in answer.parts if isinstance(part, ReasoningPart))
    named = tuple(zip(answer.ids, answer.parts, strict=True))
    *_, written = (id for id, part in named if isinstance(part, TextPart))
    ids = (*(id for id, part in named if isinstance(part, ReasoningPart)), written)
    call = RequestedCall(f"call_{uuid4().hex}", STRUCTURED_OUTPUT, text)
    return replace(answer, parts=(*thoughts, call), ids=ids)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _is_enforceable(schema: Mapping[str, JsonValue]) -> bool:
    return schema.get("type") == "object" and _is_plain({k: v for k, v in schema.items() if k != "$schema"}, 1)


def _is_plain(schema: JsonValue, depth: int) -> bool:
    """Whether it has common words only, and each object all its members and no others."""
    if not isinstance(schema, dict) or depth > _MOST_DEPTH or schema.keys() - _WORDS:
        return False
    match schema:
        case {"anyOf": list(kinds)}:
            return "type" not in schema and all(_is_plain(each, depth + 1) for each in kinds)
        case {"type": "object", "properties": dict(members), "required": list(names), "additionalProperties": False}:
            return set(names) == members.keys() and all(_is_plain(each, depth + 1) for each in members.values())
        case {"type": "array", "items": items}:
            return _is_plain(items, depth + 1)
        case _:
            return schema.get("type") in _PLAIN_TYPES
