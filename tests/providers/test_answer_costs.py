"""The cost of an answer is what it says, at the prices of the table: equal to litellm's own calculator."""

import importlib
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pytest

from activities.model.model_table import ModelTables
from activities.model.stream import Answer, AnswerAssembler
from activities.model.wires.answer_reader import AnswerReader
from activities.model.wires.anthropic import AnthropicReader
from activities.model.wires.bedrock import ConverseReader
from activities.model.wires.chat import ChatReader
from activities.model.wires.gemini import GeminiReader
from activities.model.wires.litellm.litellm_names import isolate
from activities.model.wires.ollama import OllamaReader
from activities.model.wires.responses_reader import ResponsesReader
from tests.providers.answer_costs import ANSWER_COSTS, AnswerCost, JsonDict
from workflows.domain.usage import decimal_text

READERS: Final[dict[str, type[AnswerReader]]] = {
    "anthropic": AnthropicReader,
    "bedrock": ConverseReader,
    "chat": ChatReader,
    "gemini": GeminiReader,
    "ollama": OllamaReader,
    "responses": ResponsesReader,
}
AT_THE_START: Final = ("cache_creation", "inference_geo", "service_tier", "speed")  # of Claude's usage
AT_THE_END: Final = ("iterations", "output_tokens_details", "server_tool_use")
TRANSFORMATIONS: Final = {  # of usage, as litellm reads it
    "anthropic": ("litellm.llms.anthropic.chat.transformation", "AnthropicConfig"),
    "bedrock": ("litellm.llms.bedrock.chat.converse_transformation", "AmazonConverseConfig"),
    "gemini": ("litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini", "VertexGeminiConfig"),
}


@pytest.mark.parametrize("row", ANSWER_COSTS, ids=lambda row: f"{row.model}: {row.name}")
def test_an_answer_costs_what_it_says_at_the_prices_of_the_table(row: AnswerCost) -> None:
    found = answer(row).cost(ModelTables().facts(row.model).price)

    assert (None if found is None else decimal_text(found)) == row.cost


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # its types lack some of what providers send
@pytest.mark.parametrize(
    "row", [row for row in ANSWER_COSTS if row.litellm], ids=lambda row: f"{row.model}: {row.name}"
)
def test_an_answer_costs_what_litellm_finds_to_the_last_digit(row: AnswerCost) -> None:
    assert decimal_text(round(Decimal(litellm_cost(row)), 12)) == row.cost  # it adds floats


def answer(row: AnswerCost) -> Answer:
    reader, assembler = READERS[row.wire](row.model.partition("/")[0]), AnswerAssembler()
    added, failure = reader.read(events(row))
    assert failure is None
    for each in added:
        assembler.add(each)
    assembler.add(reader.finish())
    return assembler.answer()


def events(row: AnswerCost) -> Iterator[JsonDict]:
    reported = row.reported
    match row.wire:
        case "anthropic":
            first = {name: each for name, each in reported["usage"].items() if name not in AT_THE_END}
            yield {"type": "message_start", "message": {"usage": first | {"output_tokens": 1}}}
            last = {name: each for name, each in reported["usage"].items() if name not in AT_THE_START}
            yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}
            yield {"type": "message_stop"}
        case "bedrock":
            yield {"messageStop": {"stopReason": "end_turn"}}
            yield {"metadata": reported}
        case "chat":
            yield {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
            yield {"choices": [], **reported}
        case "gemini":
            piece = {"content": {"parts": [{"text": "Hi"}]}, "groundingMetadata": reported.get("groundingMetadata")}
            yield {"candidates": [piece | {"finishReason": "STOP"}], "usageMetadata": reported["usageMetadata"]}
        case "ollama":
            yield {"message": {"content": "Hi"}, "done": True, **reported}
        case "responses":
            yield {"type": "response.completed", "response": {"status": "completed", "output": [], **reported}}


def litellm_cost(row: AnswerCost) -> float:
    isolate(os.environ)
    library = importlib.import_module("litellm")
    provider, _, model = row.model.partition("/")
    found: float = library.completion_cost(
        litellm_response(library, row, model),
        model=model,
        custom_llm_provider=provider,
        call_type="responses" if row.wire == "responses" else "completion",
    )
    return found


def litellm_response(library: Any, row: AnswerCost, model: str) -> Any:
    if row.wire == "responses":
        form = importlib.import_module("litellm.types.llms.openai").ResponsesAPIResponse
        return form(id="r", created_at=0, model=model, **{"output": [], **row.reported})
    response = library.ModelResponse(model=model)
    response.service_tier = row.reported.get("service_tier") or row.reported.get("serviceTier", {}).get("type")
    if row.wire == "chat":
        response.usage = library.Usage(**row.reported["usage"])
        return response
    module, name = TRANSFORMATIONS[row.wire]
    reads = getattr(importlib.import_module(module), name)()
    match row.wire:
        case "anthropic":
            response.usage = reads.calculate_usage(row.reported["usage"], None)
        case "bedrock":
            response.usage = reads.transform_usage(row.reported["usage"])
        case _:
            response.usage = reads.calculate_usage(row.reported)
            searches = row.reported.get("groundingMetadata", {}).get("webSearchQueries", ())
            response.usage.prompt_tokens_details.web_search_requests = len(set(searches)) or None
            traffic = {"traffic_type": row.reported["usageMetadata"].get("trafficType")}
            response._hidden_params = {"provider_specific_fields": traffic}
    return response
