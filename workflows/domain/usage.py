"""Tokens and cost of answers (opencode.md 12.2); money is decimal, because events hold no floats."""

import math
from decimal import Decimal
from typing import Final, Self

from workflows.domain.value import Value

_MILLION: Final = Decimal(1_000_000)


class ReportedUsage(Value):
    """`input` includes cached tokens, `output` reasoning."""

    input: float | None = None
    output: float | None = None
    total: float | None = None
    reasoning: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


class Tokens(Value):
    """`input` is without cache reads and writes, `output` without reasoning. `total`: the provider's own figure, if
    any."""

    total: int | None = None
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        totals = [total for total in (self.total, other.total) if total is not None]
        return Tokens(
            total=sum(totals) if totals else None,
            input=self.input + other.input,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )

    @property
    def reported(self) -> bool:
        """Whether a provider counted: every answer takes tokens."""
        return bool(self.context or self.reasoning)

    @property
    def prompt(self) -> int:
        """All tokens sent, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def context(self) -> int:
        """Tokens of the context window, without reasoning (opencode.md 4.4)."""
        return self.total or self.prompt + self.output


class Rates(Value):
    """US dollars per million tokens. Without own rates, reasoning costs as output and the cache as input."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    reasoning: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    def cost(self, tokens: Tokens) -> Decimal:
        reasoning = self.output if self.reasoning is None else self.reasoning
        cache_read = self.input if self.cache_read is None else self.cache_read
        cache_write = self.input if self.cache_write is None else self.cache_write
        return (
            self.input * tokens.input
            + self.output * tokens.output
            + reasoning * tokens.reasoning
            + cache_read * tokens.cache_read
            + cache_write * tokens.cache_write
        ) / _MILLION


class PriceTier(Rates):
    """Rates of prompts of more than `above` tokens."""

    above: int


class Price(Rates):
    """Rates per million tokens; tiers replace them for long prompts."""

    tiers: tuple[PriceTier, ...] = ()

    def rates(self, prompt: int) -> Rates:
        """The rates of the highest tier that the prompt's tokens exceed."""
        reached = [tier for tier in self.tiers if prompt > tier.above]
        return max(reached, key=lambda tier: tier.above) if reached else self

    @property
    def free(self) -> bool:
        return not self.cost(Tokens(input=1, output=1, reasoning=1, cache_read=1, cache_write=1))


class Cost(Value):
    """US dollars; `unpriced` counts answers of unknown cost, not included."""

    dollars: Decimal = Decimal(0)
    unpriced: int = 0

    @classmethod
    def of(cls, recorded: str | None) -> Self:
        """Takes a decimal string from an event; None if unknown."""
        return cls(unpriced=1) if recorded is None else cls(dollars=Decimal(recorded))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(dollars=self.dollars + other.dollars, unpriced=self.unpriced + other.unpriced)

    @property
    def known(self) -> bool:
        """Whether the amount means something: zero dollars with unpriced answers does not."""
        return bool(self.dollars) or not self.unpriced


def normalize_usage(reported: ReportedUsage) -> Tokens:
    """Negative or infinite numbers count as 0."""
    cache_read, cache_write = _count(reported.cache_read), _count(reported.cache_write)
    reasoning = _count(reported.reasoning)
    return Tokens(
        total=None if reported.total is None else _count(reported.total),
        input=max(0, _count(reported.input) - cache_read - cache_write),
        output=max(0, _count(reported.output) - reasoning),
        reasoning=reasoning,
        cache_read=cache_read,
        cache_write=cache_write,
    )


def cost(tokens: Tokens, price: Price | None) -> Decimal | None:
    """The cost in US dollars; None without a price."""
    return None if price is None else price.rates(tokens.prompt).cost(tokens)


def decimal_text(amount: Decimal) -> str:
    """Plain digits, no exponent, no trailing zeros."""
    return format(amount.normalize(), "f")


def _count(reported: float | None) -> int:
    return max(0, int(reported)) if reported is not None and math.isfinite(reported) else 0
