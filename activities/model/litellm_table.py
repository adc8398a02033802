"""Tables of models in litellm's form: names, prices, limits, and what each sees."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeAlias

from activities.model.model_names import ModelName, choose_relative, read_name
from activities.model.port import ModelFacts
from workflows.domain.usage import Price, PriceTier

ModelTable: TypeAlias = Mapping[str, Mapping[str, Any]]

_MODES: Final = ("chat", "responses")
_FAMILIES: Final = {"bedrock_converse": "bedrock", "ai21": "ai21_chat"}  # its column → the provider that is asked
_PRICED_BY_REGION: Final = ("azure", "bedrock")  # names with another "/" there are prices, not models
_TUNED: Final = "ft:"  # the price of models that people have tuned
_MILLION: Final = 1_000_000
_GROUNDED: Final = ("gemini", "vertex_ai")  # searches cost once, unless the table says so
_BASE: Final = ("input_cost_per_token", "output_cost_per_token")
COST_COLUMNS: Final = {  # our names → litellm's columns
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "reasoning": "output_cost_per_reasoning_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_long": "cache_creation_input_token_cost_above_1hr",
    "input_audio": "input_cost_per_audio_token",
    "cache_read_audio": "cache_read_input_audio_token_cost",
    "output_audio": "output_cost_per_audio_token",
}
_HOUR, _HALF_DAY = "_above_1hr", "_above_12hr"  # what Anthropic and OpenAI cache for longer than usual
_RATES: Final = "|".join(name for name in COST_COLUMNS.values() if not name.endswith(_HOUR))
_LONG_WRITES: Final = f"{COST_COLUMNS['cache_write']}(?:{_HOUR}|{_HALF_DAY})"
_LONG: Final = re.compile(rf"({_RATES}|{_LONG_WRITES})(_above_(\d+)k_tokens)")
_SERVICES: Final = ("priority", "flex", "balanced", "ultrafast")  # no batches: none are sent
SEARCH: Final = "search_context_cost_per_query"
_UNIT: Final = "web_search_billing_unit"
_FACTORS: Final = "provider_specific_entry"
PRICE_COLUMNS: Final = re.compile(rf"tiered_pricing|({_RATES})(_above_\d+k_tokens)?")
TERM_COLUMNS: Final = re.compile(
    rf"({_RATES}|{_LONG_WRITES})(_above_\d+k_tokens)?_({'|'.join(_SERVICES)})|{_LONG_WRITES}(_above_\d+k_tokens)?"
    rf"|{SEARCH}|{_UNIT}|{_FACTORS}"
)


def names_in_table(model: str) -> tuple[str, str]:
    """By a model's name in `Endpoint.model`: litellm names those of some providers without."""
    return model, model.partition("/")[2]


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
    """The older entry with what the newer one says; prices only together: an old tier does not fit new rates.

    Those that depend on an answer's terms are not in every table: they stay where the others are as they were.
    """
    if any(map(PRICE_COLUMNS.fullmatch, newer)):
        same = all(float(older.get(name) or 0) == float(newer.get(name) or 0) for name in _BASE)
        stale = [PRICE_COLUMNS]
        if not same or any(map(TERM_COLUMNS.fullmatch, newer)):
            stale.append(TERM_COLUMNS)
        older = {name: value for name, value in older.items() if not any(each.fullmatch(name) for each in stale)}
    return dict(older) | dict(newer)


def find_facts(table: ModelTable, model: str) -> ModelFacts:
    """`model`: as in `Endpoint.model`."""
    entry = find_entry(table, model)
    return facts_of_entry(entry) if entry else guess_facts(table, model)


def guess_facts(table: ModelTable, model: str) -> ModelFacts:
    """For a model that the table does not have: all but the price of the one most like it. Without one, it may see
    pictures, as most models do."""
    alike = find_relative(table, model)
    if alike is None:
        return ModelFacts(images=True, guessed=True)
    of_elsewhere = {"price": None, "responses": False, "guessed": True}
    # how much of a window a program on this machine has is its own setting
    limits = {"context": 0, "max_input": 0, "max_output": 0} if model.startswith("ollama_chat/") else {}
    return facts_of_entry(table[alike]).model_copy(update={**of_elsewhere, **limits})


def find_relative(table: ModelTable, model: str) -> str | None:
    """The table's name of the model that is most like one that it does not have: the same one with its own company,
    else another one of its family."""
    asked = read_name(model)
    return choose_relative(asked, _family(table, asked.company)) if asked else None


def _family(table: ModelTable, company: str) -> dict[str, ModelName]:
    named = (
        (key, read_name(key)) for key, known in table.items() if provider_of(known) == company and _is_agent(known)
    )
    return {key: name for key, name in named if name is not None and name.company == company}


def _is_agent(known: Mapping[str, Any]) -> bool:
    return _context(known) > 0 and _can_call_tools(known)


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
        efforts=None if (levels := known.get("reasoning_effort_levels")) is None else tuple(levels),
        sampled=known.get("supports_temperature") is not False,
        responses=known.get("mode") == "responses",
    )


def _price(known: Mapping[str, Any]) -> Price | None:
    """None unless litellm has prices in and out: some entries hold limits only."""
    known = {name.replace(_HALF_DAY, _HOUR): value for name, value in known.items()}
    if (rates := _token_rates(known)) is None:
        return None
    by_service = {service: _token_rates(_of_service(known, f"_{service}")) for service in _SERVICES}
    factors = known.get(_FACTORS) or {}
    return Price(
        **rates,
        services={service: Price(**own) for service, own in by_service.items() if own is not None},
        surcharges={name: Decimal(str(factor)) for name, factor in factors.items() if isinstance(factor, int | float)},
        search=search_fee(known),
        search_once=provider_of(known) in _GROUNDED and known.get(_UNIT) != "per_query",
    )


def _of_service(known: Mapping[str, Any], suffix: str) -> Mapping[str, Any]:
    return {name.removesuffix(suffix): value for name, value in known.items() if name.endswith(suffix)}


def _token_rates(known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The members of a price that are for tokens."""
    shortest, *longer = known.get("tiered_pricing") or [known]
    rates = _rates(shortest)
    if not {"input", "output"} <= rates.keys():
        return None
    suffixes = {int(hit[3]) * 1000: hit[2] for name in known if (hit := _LONG.fullmatch(name))}
    long = {above: _rates(known, suffix) for above, suffix in suffixes.items()}
    long |= {int(tier["range"][0]): _rates(tier) for tier in longer}
    return {**rates, "tiers": tuple(PriceTier(above=above, **rates | own) for above, own in long.items())}


def _rates(known: Mapping[str, Any], suffix: str = "") -> dict[str, Decimal]:
    """litellm has floats per token, we have decimals per million tokens."""
    found = {ours: known.get(theirs + suffix) for ours, theirs in COST_COLUMNS.items()}
    return {name: Decimal(str(rate)) * _MILLION for name, rate in found.items() if rate is not None}


def search_fee(known: Mapping[str, Any]) -> Decimal | None:
    """Dollars for a search. None where they depend on how much it reads: no answer says that."""
    fee = known.get(SEARCH)
    fees = set(fee.values()) if isinstance(fee, dict) else {fee}
    return Decimal(str(fees.pop())) if len(fees) == 1 and fees != {None} else None
