"""Tokens and cost."""

import math
from decimal import Decimal
from typing import Any

import pytest

from tests.cases import Case, load
from workflows.domain.usage import Cost, Price, PriceTier, ReportedUsage, Terms, Tokens, decimal_text, normalize_usage


@pytest.mark.parametrize("case", load("usage_tokens"))
def test_tokens_and_cost_are_counted_as_in_the_case(case: Case) -> None:
    tokens = normalize_usage(reported(case.input))

    assert shown(tokens) == case.expected["tokens"]
    assert price(case.input["model_cost"]).cost_of(tokens) == Decimal(str(case.expected["cost"]))


def test_counts_that_are_negative_or_not_finite_are_zero() -> None:
    tokens = normalize_usage(ReportedUsage(input=-5, output=math.inf, total=math.nan, reasoning=-1))

    assert tokens == Tokens(total=0)


def test_sums_keep_the_total_of_those_that_reported_one() -> None:
    assert Tokens(total=7, input=7) + Tokens(input=3) == Tokens(total=7, input=10)
    assert (Tokens(input=1) + Tokens(input=2)).total is None


def test_the_context_counts_no_reasoning_unless_the_provider_gives_a_total() -> None:
    assert Tokens(input=10, output=5, reasoning=100, cache_read=2, cache_write=1).context == 18
    assert Tokens(total=118, input=10, output=5, reasoning=100).context == 118


def test_the_rates_are_those_of_the_highest_tier_that_a_prompt_exceeds() -> None:
    tiers = (PriceTier(above=300_000, input=Decimal(4)), PriceTier(above=200_000, input=Decimal(2)))
    price = Price(input=Decimal(1), tiers=tiers)

    assert [price.rates(size).input for size in (200_000, 200_001, 300_000, 300_001)] == [1, 2, 2, 4]


@pytest.mark.parametrize(
    ("amount", "text"), [("0", "0"), ("0.00", "0"), ("9E-5", "0.00009"), ("100", "100"), ("4.50", "4.5")]
)
def test_an_amount_is_written_without_exponent_and_idle_zeros(amount: str, text: str) -> None:
    assert decimal_text(Decimal(amount)) == text


def test_a_price_of_zero_is_a_price_on_any_terms_but_for_searches() -> None:
    tokens, free = Tokens(input=1_000_000, output=1), Price(input=Decimal(0), output=Decimal(0))

    assert [free.cost_of(tokens), free.cost_of(tokens, Terms(service="priority"))] == [0, 0]
    assert free.cost_of(tokens, Terms(searches=1)) is None


def test_what_a_tier_of_service_has_no_rate_for_is_not_known_if_it_was_used() -> None:
    usual = {"input": Decimal(2), "cache_read": Decimal(1)}
    price = Price(**usual, services={"flex": Price(input=Decimal(1))}, tiers=(PriceTier(above=100, **usual),))
    flex = Terms(service="flex")

    assert price.cost_of(Tokens(input=100), flex) == Decimal("0.0001")
    assert price.cost_of(Tokens(cache_read=1), flex) is None
    assert price.cost_of(Tokens(input=101), flex) is None


def test_a_part_of_the_tokens_is_never_more_than_all_of_them() -> None:
    price = Price(input=Decimal(1), input_audio=Decimal(3))

    assert price.cost_of(Tokens(input=1_000_000), Terms(input_audio=5_000_000)) == 3


def test_an_answer_of_unknown_cost_has_cost_at_most_what_the_dearest_known_terms_do() -> None:
    dear, cheap = Price(input=Decimal(4)), Price(input=Decimal(1))
    factors = {"fast": Decimal(3), "slow": Decimal("0.5")}
    price = Price(input=Decimal(2), services={"priority": dear, "flex": cheap}, surcharges=factors)

    assert price.highest_cost(Tokens(input=1_000_000)) == 12


def test_a_cache_without_a_rate_of_its_own_costs_what_input_costs() -> None:
    tokens = Tokens(cache_read=1_000_000, cache_write=1_000_000)

    assert Price(input=Decimal(3)).cost_of(tokens) == 6
    assert Price(input=Decimal(3), cache_read=Decimal(0), cache_write=Decimal(1)).cost_of(tokens) == 1


def test_a_sum_says_how_many_answers_it_leaves_out() -> None:
    some = Cost.of("0.25") + Cost.of(None) + Cost.of(None)

    assert (some, some.known) == (Cost(dollars=Decimal("0.25"), unpriced=2), True)
    assert [Cost().known, Cost.of("0").known, Cost.of(None).known] == [True, True, False]


def reported(given: dict[str, Any]) -> ReportedUsage:
    usage, metadata = given["usage"], given["provider_metadata"] or {}
    return ReportedUsage(
        input=usage.get("inputTokens"),
        output=usage.get("outputTokens"),
        total=usage.get("totalTokens"),
        reasoning=usage.get("reasoningTokens"),
        cache_read=usage.get("cacheReadInputTokens"),
        cache_write=metadata.get("anthropic", {}).get("cacheCreationInputTokens"),
    )


def price(given: dict[str, Any]) -> Price:
    tiers = tuple(PriceTier(above=tier["tier"]["size"], **rates(tier)) for tier in given.get("tiers", ()))
    return Price(tiers=tiers, **rates(given))


def rates(given: dict[str, Any]) -> dict[str, Decimal]:
    cache = given["cache"]
    figures = {"input": given["input"], "output": given["output"], "cache_read": cache["read"]}
    return {name: Decimal(str(value)) for name, value in {**figures, "cache_write": cache["write"]}.items()}


def shown(tokens: Tokens) -> dict[str, Any]:
    total = {} if tokens.total is None else {"total": tokens.total}
    cache = {"write": tokens.cache_write, "read": tokens.cache_read}
    return {**total, "input": tokens.input, "output": tokens.output, "reasoning": tokens.reasoning, "cache": cache}
