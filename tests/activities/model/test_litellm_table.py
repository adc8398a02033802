"""litellm's table of models."""

from decimal import Decimal

import pytest

from activities.model.litellm_table import facts_of_entry
from activities.model.wires.router import WireRouter
from workflows.domain.usage import PriceTier, Tokens


async def test_a_known_model_has_a_price_and_limits(adapter: WireRouter) -> None:
    facts = await adapter.facts("anthropic/claude-sonnet-4-5")

    assert facts.price is not None
    assert (facts.price.input, facts.price.output) == (Decimal(3), Decimal(15))
    assert facts.context >= 200_000
    assert (facts.images, facts.documents) == (True, True)


async def test_a_model_without_a_rate_for_its_cache_has_none(adapter: WireRouter) -> None:
    price = (await adapter.facts("command-r-plus-08-2024")).price

    assert price is not None and price.input > 0 and price.cache_read is None


async def test_a_model_that_is_listed_without_a_price_has_none(adapter: WireRouter) -> None:
    facts = await adapter.facts("bedrock/eu-central-1/1-month-commitment/anthropic.claude-v1")

    assert (facts.price, facts.context > 0) == (None, True)


async def test_an_unknown_model_has_no_price_and_no_limits(adapter: WireRouter) -> None:
    facts = await adapter.facts("openai/nobody-knows-it")

    assert (facts.price, facts.context, facts.guessed) == (None, 0, True)


@pytest.mark.parametrize(
    ("model", "tokens", "dollars"),
    [
        ("anthropic/claude-haiku-5-5", Tokens(input=20_000, cache_read=80_000, output=300), "0.00295"),
        ("anthropic/claude-haiku-5-5", Tokens(input=20_000, cache_read=100_000, output=300), "0.01575"),
        ("openai/gpt-6-sol", Tokens(cache_read=450_000, cache_write=50_000, output=1000), "0.445"),
        ("gemini/gemini-2.5-pro", Tokens(input=200_001), "0.5000025"),
        ("dashscope/qwen-turbo", Tokens(input=1_000_000, output=1_000_000, reasoning=1_000_000), "0.75"),
        ("dashscope/qwen3-coder-plus", Tokens(input=32_000), "0.032"),
        ("dashscope/qwen3-coder-plus", Tokens(input=32_001, cache_read=0), "0.0576018"),
        ("dashscope/qwen3-coder-plus", Tokens(input=900_000, cache_read=100_000), "5.46"),
    ],
)
async def test_an_answer_costs_what_a_prompt_of_its_length_does(
    adapter: WireRouter, model: str, tokens: Tokens, dollars: str
) -> None:
    price = (await adapter.facts(model)).price
    assert price is not None and price.cost_of(tokens) == Decimal(dollars)


@pytest.mark.parametrize(
    ("known", "tier"),
    [
        ({}, {"input": 4, "output": 10, "cache_read": "0.5"}),
        ({"output_cost_per_token_above_128k_tokens": 2e-5}, {"input": 4, "output": 20, "cache_read": "0.5"}),
        ({"cache_creation_input_token_cost": 3e-6}, {"input": 4, "output": 10, "cache_read": "0.5", "cache_write": 3}),
    ],
)
def test_a_tier_has_the_rates_of_short_prompts_where_it_names_none(
    known: dict[str, float], tier: dict[str, str | int]
) -> None:
    base = {"input_cost_per_token": 2e-6, "output_cost_per_token": 1e-5, "cache_read_input_token_cost": 5e-7}

    price = facts_of_entry({**base, **known, "input_cost_per_token_above_128k_tokens": 4e-6}).price

    rates = {name: Decimal(rate) for name, rate in tier.items()}
    assert price is not None and price.tiers == (PriceTier(above=128_000, **rates),)
