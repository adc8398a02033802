"""litellm's table of models: names, prices, limits, and what each sees. Reading the file needs no import."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from activities.model.port import ModelFacts
from activities.model.table_entry import read_entry
from workflows.domain.usage import Price, PriceTier

ModelTable: TypeAlias = Mapping[str, Mapping[str, Any]]

_FILE: Final = "model_prices_and_context_window_backup.json"
_INDENT: Final = "    "  # of its entries' names
_MODES: Final = ("chat", "responses")
_FAMILIES: Final = {"bedrock_converse": "bedrock", "ai21": "ai21_chat"}  # its column → the provider that is asked
_PRICED_BY_REGION: Final = ("azure", "bedrock")  # names with another "/" there are prices, not models
_TUNED: Final = "ft:"  # the price of models that people have tuned
_MILLION: Final = 1_000_000
COST_COLUMNS: Final = {  # our names → litellm's columns
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "reasoning": "output_cost_per_reasoning_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}
_RATES: Final = "|".join(COST_COLUMNS.values())
_LONG: Final = re.compile(rf"({_RATES})(_above_(\d+)k_tokens)")
_PRICES: Final = re.compile(rf"tiered_pricing|({_RATES})(_above_\d+k_tokens)?")
COLUMNS: Final = re.compile(  # those that are read here
    rf"mode|litellm_provider|deprecation_date|max_(input_|output_|prompt_)?tokens|tiered_pricing|supported_output_modalities"
    rf"|supports_(function_calling|vision|pdf_input|reasoning)|({_RATES})(_above_\d+k_tokens)?"
)


def read_table() -> ModelTable:
    """Empty if litellm has none."""
    file = _file()
    table: ModelTable = json.loads(file.read_bytes()) if file is not None else {}
    return table


def read_single_entry(model: str) -> Mapping[str, Any]:
    """As `find_entry` of `read_table`, or {}."""
    file = _file()
    return {} if file is None else read_entry(file, names_in_table(model), _INDENT)


def names_in_table(model: str) -> tuple[str, str]:
    """By a model's name in `Endpoint.model`: litellm names those of some providers without."""
    return model, model.partition("/")[2]


def _file() -> Path | None:
    spec = find_spec("litellm")
    files = (Path(folder) / _FILE for folder in (spec and spec.submodule_search_locations) or ())
    return next(filter(Path.is_file, files), None)


def model_names(table: ModelTable, provider: str, today: date) -> Iterator[str]:
    """A provider's models that an agent can work with by `today`; `provider`: litellm's name."""
    for key, known in table.items():
        if _can_call_tools(known) and str(known.get("deprecation_date") or "9") >= today.isoformat():
            name = key.removeprefix(f"{provider}/")
            if _is_model(key, name, known, provider):
                yield name


def find_entry(table: ModelTable, model: str) -> Mapping[str, Any] | None:
    """The table's entry of a model, by its name in `Endpoint.model`."""
    return next(filter(None, map(table.get, names_in_table(model))), None)


def merge_entries(older: Mapping[str, Any], newer: Mapping[str, Any]) -> dict[str, Any]:
    """The older entry with what the newer one says; prices only together: an old tier does not fit new rates."""
    priced = any(map(_PRICES.fullmatch, newer))
    return {name: value for name, value in older.items() if not (priced and _PRICES.fullmatch(name))} | dict(newer)


def find_facts(table: ModelTable, model: str) -> ModelFacts:
    """`model`: as in `Endpoint.model`."""
    return facts_of_entry(find_entry(table, model) or {})


def _can_call_tools(known: Mapping[str, Any]) -> bool:
    text = "text" in (known.get("supported_output_modalities") or ["text"])
    return text and known.get("mode", "chat") in _MODES and known.get("supports_function_calling") is not False


def _is_model(key: str, name: str, known: Mapping[str, Any], provider: str) -> bool:
    """Some entries are prices of a size, a region, or of tuning."""
    if name != key:
        limits_or_price = _context(known) or known.get("input_cost_per_token") is not None
        return bool(limits_or_price) and not (provider in _PRICED_BY_REGION and "/" in name)
    bare = "/" not in key and not key.startswith(_TUNED) and _context(known) > 0
    return bare and provider_of(known) == provider


def provider_of(known: Mapping[str, Any]) -> str:
    named = str(known.get("litellm_provider"))
    return "vertex_ai" if named.startswith("vertex_ai-") else _FAMILIES.get(named, named)


def _context(known: Mapping[str, Any]) -> int:
    return known.get("max_input_tokens") or known.get("max_tokens") or 0


def facts_of_entry(known: Mapping[str, Any]) -> ModelFacts:
    return ModelFacts(
        price=_price(known),
        context=_context(known),
        max_input=known.get("max_prompt_tokens") or 0,
        max_output=known.get("max_output_tokens") or 0,
        images=bool(known.get("supports_vision")),
        documents=bool(known.get("supports_pdf_input")),
        reasoning=bool(known.get("supports_reasoning")),
        responses=known.get("mode") == "responses",
    )


def _price(known: Mapping[str, Any]) -> Price | None:
    """None unless litellm has prices in and out: some entries hold limits only."""
    shortest, *longer = known.get("tiered_pricing") or [known]
    rates = _rates(shortest)
    if not {"input", "output"} <= rates.keys():
        return None
    suffixes = {int(hit[3]) * 1000: hit[2] for name in known if (hit := _LONG.fullmatch(name))}
    long = {above: _rates(known, suffix) for above, suffix in suffixes.items()}
    long |= {int(tier["range"][0]): _rates(tier) for tier in longer}
    return Price(**rates, tiers=tuple(PriceTier(above=above, **rates | own) for above, own in long.items()))


def _rates(known: Mapping[str, Any], suffix: str = "") -> dict[str, Decimal]:
    """litellm has floats per token, we have decimals per million tokens."""
    found = {ours: known.get(theirs + suffix) for ours, theirs in COST_COLUMNS.items()}
    return {name: Decimal(str(rate)) * _MILLION for name, rate in found.items() if rate is not None}
