"""What a session of 100 steps costs with each provider: the tokens that its double bills, at the release's prices."""

import os
from decimal import Decimal
from typing import Final

from activities.model.model_table import ModelTables
from activities.model.wires.router import WireRouter
from bench.figure_table import Figure
from tests.providers.bedrock_converse import CLAUDE
from tests.providers.behaviours.anthropic_wire import AnthropicWire
from tests.providers.behaviours.azure_wire import AzureChatWire, AzureResponsesWire
from tests.providers.behaviours.bedrock_wire import BedrockWire
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.conversation import Conversation
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.long_turn import Sizes, play_long_turns
from tests.providers.behaviours.mistral_wire import MistralWire
from tests.providers.behaviours.openrouter_wire import OpenRouterWire
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.provider_double import serve_double
from workflows.domain.usage import Price, Tokens

SESSION: Final = Sizes(calls=1, prompt=3_300, answer=250, result=1_200)
MODELS: Final[dict[str, type[WireUnderTest]]] = {
    "anthropic/claude-opus-5-5": AnthropicWire,
    "anthropic/claude-sonnet-4-5": AnthropicWire,
    "openrouter/anthropic/claude-sonnet-4.5": OpenRouterWire,
    f"bedrock/{CLAUDE}": BedrockWire,
    "openai/gpt-5.3-codex": ResponsesWire,
    "openai/gpt-6-sol": ResponsesWire,
    "openai/gpt-4.1": ChatWire,
    "azure/gpt-5.3-codex": AzureResponsesWire,
    "azure/gpt-4.1": AzureChatWire,
    "mistral/mistral-large-latest": MistralWire,
    "gemini/gemini-2.5-pro": GeminiWire,
    "gemini/gemini-3.1-pro-preview": GeminiWire,
}


async def measure_prices() -> list[Figure]:
    """US dollars: as billed, beside the same tokens without a cache. Raises ValueError for a model without a price."""
    figures, tables, port = [], ModelTables(), WireRouter(os.environ)
    for model, wire in MODELS.items():
        price = tables.facts(model).price
        if price is None:
            raise ValueError(f"The release's table has no price of {model!r}.")
        billed = await _play(port, type(wire.__name__, (wire,), {"model": model})())
        uncached = [Tokens(input=each.prompt, output=each.output, reasoning=each.reasoning) for each in billed]
        name = f"{sum(SESSION.turns)} steps with {model} ($; beside: without its cache)"
        figures.append(Figure(name, _dollars(billed, price), _dollars(uncached, price), digits=2))
    await port.close()
    return figures


async def _play(port: WireRouter, wire: WireUnderTest) -> list[Tokens]:
    wire.bill()
    async with serve_double(wire.double):
        return await play_long_turns(Conversation(port, wire), SESSION)


def _dollars(billed: list[Tokens], price: Price) -> float:
    return float(sum((price.rates(each.prompt).cost(each) for each in billed), Decimal(0)))
