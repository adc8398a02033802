"""What litellm's table of models says of one: its price, its limits, and what it sees."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from activities.model.port import ModelFacts
from workflows.domain.usage import Price, Tier

_MILLION: Final = 1_000_000
_NAMES: Final = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "reasoning": "output_cost_per_reasoning_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}
_LONG: Final = re.compile(rf"({'|'.join(_NAMES.values())})(_above_(\d+)k_tokens)")


def facts_of(known: Mapping[str, Any]) -> ModelFacts:
    """The facts in an entry of the table."""
    return ModelFacts(
        price=_price(known),
        context=known.get("max_input_tokens") or known.get("max_tokens") or 0,
        max_output=known.get("max_output_tokens") or 0,
        images=bool(known.get("supports_vision")),
        documents=bool(known.get("supports_pdf_input")),
        responses=known.get("mode") == "responses",
    )


def _price(known: Mapping[str, Any]) -> Price | None:
    """None where litellm names no price for tokens, or not both: some of its entries hold limits only."""
    shortest, *longer = known.get("tiered_pricing") or [known]
    rates = _rates(shortest)
    if not {"input", "output"} <= rates.keys():
        return None
    suffixes = {int(hit[3]) * 1000: hit[2] for name in known if (hit := _LONG.fullmatch(name))}
    long = {above: _rates(known, suffix) for above, suffix in suffixes.items()}
    long |= {int(tier["range"][0]): _rates(tier) for tier in longer}
    return Price(**rates, tiers=tuple(Tier(above=above, **rates | own) for above, own in long.items()))


def _rates(known: Mapping[str, Any], suffix: str = "") -> dict[str, Decimal]:
    """The rates that litellm names, floats per token; ours are decimals per million."""
    found = {ours: known.get(theirs + suffix) for ours, theirs in _NAMES.items()}
    return {name: Decimal(str(rate)) * _MILLION for name, rate in found.items() if rate is not None}
