"""What a session of 100 steps costs with each provider: the tokens that its double bills, at the release's prices.

    python -P -m bench.prices

writes the table of docs/models.md.
"""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from activities.model.model_table import ModelTables
from activities.model.wires.router import WireRouter
from bench.figure_table import Figure
from tests.providers.bedrock_converse import CLAUDE
from tests.providers.behaviours.anthropic_wire import AnthropicWire
from tests.providers.behaviours.azure_wire import AzureChatWire, AzureResponsesWire
from tests.providers.behaviours.bedrock_wire import BedrockWire
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.compatible_wires import SloppyWire, StrictWire
from tests.providers.behaviours.conversation import Conversation
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.long_turn import Sizes, play_long_turns
from tests.providers.behaviours.mistral_wire import MistralWire
from tests.providers.behaviours.openrouter_wire import OpenRouterWire
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.provider_double import serve_double
from tests.providers.sloppy_chat import SERVERS
from workflows.domain.usage import Price, Tokens


def _sloppy(name: str) -> type[WireUnderTest]:
    (server,) = [server for server in SERVERS if server.name == name]
    return type(SloppyWire.__name__, (SloppyWire,), {"server": server})


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
    "deepseek/deepseek-v4-pro": _sloppy("DeepSeek"),
    "moonshot/kimi-k2.6": _sloppy("Moonshot"),
    "groq/openai/gpt-oss-120b": StrictWire,
    "xai/grok-4.3": _sloppy("xAI"),
    "zai/glm-5.1": _sloppy("Z.ai"),
    "minimax/MiniMax-M2.5": AnthropicWire,
}
_NAMES: Final = {"bedrock": "amazon-bedrock", "gemini": "google", "moonshot": "moonshotai"}  # that people write
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "models.md"
BEGIN: Final = "<!-- prices: python -P -m bench.prices -->\n"
END: Final = "<!-- /prices -->\n"


@dataclass(frozen=True)
class SessionPrice:
    """US dollars: as billed, and the same tokens without a cache."""

    model: str
    billed: float
    uncached: float

    @property
    def row(self) -> str:
        return f"| `{public_name(self.model)}` | {self.uncached:.2f} | {self.billed:.2f} |\n"


def public_name(model: str) -> str:
    provider, _, name = model.partition("/")
    return f"{_NAMES.get(provider, provider)}/{name}"


async def measure_prices() -> list[Figure]:
    title = f"{sum(SESSION.turns)} steps with {{}} ($; beside: without its cache)"
    priced = await price_sessions(MODELS)
    return [Figure(title.format(each.model), each.billed, each.uncached, digits=2) for each in priced]


async def price_sessions(models: Iterable[str]) -> list[SessionPrice]:
    """Raises ValueError for a model without a price."""
    priced, tables, port = [], ModelTables(), WireRouter(os.environ)
    for model in models:
        price = tables.facts(model).price
        if price is None:
            raise ValueError(f"The release's table has no price of {model!r}.")
        wire = MODELS[model]
        billed = await _play(port, type(wire.__name__, (wire,), {"model": model})())
        uncached = [Tokens(input=each.prompt, output=each.output, reasoning=each.reasoning) for each in billed]
        priced.append(SessionPrice(model, _dollars(billed, price), _dollars(uncached, price)))
    await port.close()
    return priced


async def _play(port: WireRouter, wire: WireUnderTest) -> list[Tokens]:
    wire.bill()
    async with serve_double(wire.double):
        return await play_long_turns(Conversation(port, wire), SESSION)


def _dollars(billed: list[Tokens], price: Price) -> float:
    return float(sum((price.rates(each.prompt).cost(each) for each in billed), Decimal(0)))


def page(priced: Iterable[SessionPrice]) -> str:
    """docs/models.md with these rows."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "".join(each.row for each in priced)
    return f"{before}{BEGIN}\n| model | without a cache | so |\n|---|--:|--:|\n{rows}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(asyncio.run(price_sessions(MODELS))), "utf-8")
