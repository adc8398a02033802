"""What the configuration says of a model, over what the tables know."""

from decimal import Decimal
from typing import Final

from activities.model.port import ModelFacts
from activities.model.providers import is_subscription, provider_named
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS
from workflows.domain.config.provider_settings import Prices, ProviderModel
from workflows.domain.usage import Price, PriceTier

_LONG_CONTEXT: Final = 200_000  # tokens of a prompt, above which `context_over_200k` counts


def merge_facts(id: str, entry: ProviderModel, known: ModelFacts, address: str | None) -> ModelFacts:
    """The configuration overrides the tables, whose prices are not those of a subscription, nor of a provider of one's
    own at an `address`, whatever its models are called."""
    limit = entry.limit
    limits = {"context": limit.context, "max_input": limit.input or 0, "max_output": limit.output} if limit else {}
    own = address is not None and not provider_named(id).listed and id not in LITELLM_PROVIDERS
    price = {"price": _price(entry.cost)} if entry.cost else {"price": None} if own or is_subscription(id) else {}
    sees = {} if entry.attachment is None else {"images": entry.attachment, "documents": entry.attachment}
    stated = {"guessed": False} if sees or entry.modalities is not None else {}
    if entry.modalities is not None:
        sees = {"images": "image" in entry.modalities.input, "documents": "pdf" in entry.modalities.input}
    thinks = {} if entry.reasoning is None else {"reasoning": entry.reasoning}
    return known.model_copy(update={**limits, **price, **sees, **thinks, **stated})


def _price(prices: Prices) -> Price:
    """The configured price; without prices for long prompts, those for short ones hold."""
    rates, long = _rates(prices), prices.context_over_200k
    return Price(**rates, tiers=(PriceTier(above=_LONG_CONTEXT, **rates | _rates(long)),) if long else ())


def _rates(prices: Prices) -> dict[str, Decimal]:
    rates = {
        "input": prices.input,
        "output": prices.output,
        "cache_read": prices.cache_read,
        "cache_write": prices.cache_write,
    }
    named = prices.model_fields_set
    return {name: Decimal(str(rate)) for name, rate in rates.items() if rate is not None and name in named}
