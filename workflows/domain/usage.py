"""Tokens and cost of answers (opencode.md 12.2); money is decimal, because events hold no floats."""

import math
from decimal import Decimal
from typing import Final, Self

from pydantic import NonNegativeInt

from workflows.domain.value import Value

_MILLION: Final = Decimal(1_000_000)
_USUAL: Final = frozenset(  # providers' words for the standard tier, speed and place
    {"", "auto", "default", "global", "not_available", "on_demand", "standard", "standard_only"}
    | {"traffic_type_unspecified", "unspecified"}
)
_OPTIONAL: Final = ("cache_read", "cache_write", "input_audio", "cache_read_audio", "output_audio")


class Terms(Value):
    """What decides the cost of an answer beside its tokens, as the answer says it.

    `service`: the tier that served it, unless the standard one. `surcharges`: names of what multiplies all rates. The
    other tokens are among those of their kind: writes that are cached for longer than usual, and audio. `unpriced`: the
    answer used what no table has a price for.
    """

    service: str | None = None
    surcharges: tuple[str, ...] = ()
    cache_write_long: NonNegativeInt = 0
    input_audio: NonNegativeInt = 0
    cache_read_audio: NonNegativeInt = 0
    output_audio: NonNegativeInt = 0
    searches: NonNegativeInt = 0
    unpriced: bool = False


STANDARD_TERMS: Final = Terms()


class ReportedUsage(Value):
    """`input` includes cached tokens, `output` reasoning. `total` is the context's, without what else was billed."""

    input: float | None = None
    output: float | None = None
    total: float | None = None
    reasoning: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    terms: Terms = STANDARD_TERMS


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
    """US dollars per million tokens. Without own rates, reasoning costs as output, the cache as input, and audio as
    text; only what is cached for long has no other price."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    reasoning: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_long: Decimal | None = None
    input_audio: Decimal | None = None
    cache_read_audio: Decimal | None = None
    output_audio: Decimal | None = None

    def cost(self, tokens: Tokens, terms: Terms = STANDARD_TERMS) -> Decimal:
        cache_read, cache_write = _or(self.cache_read, self.input), _or(self.cache_write, self.input)
        kinds = (  # a rate and its tokens; then those among them with another rate
            (self.input, tokens.input, self.input_audio, terms.input_audio),
            (self.output, tokens.output, self.output_audio, terms.output_audio),
            (_or(self.reasoning, self.output), tokens.reasoning, None, 0),
            (cache_read, tokens.cache_read, self.cache_read_audio, terms.cache_read_audio),
            (cache_write, tokens.cache_write, self.cache_write_long, terms.cache_write_long),
        )
        return sum((_split_cost(*kind) for kind in kinds), Decimal(0)) / _MILLION


class PriceTier(Rates):
    """Rates of prompts of more than `above` tokens."""

    above: int


class Price(Rates):
    """Rates per million tokens; tiers replace them for long prompts. `services`: prices by the tier of service.
    `surcharges`: factors by name. `search`: dollars for a search; `search_once`: for all of an answer together."""

    tiers: tuple[PriceTier, ...] = ()
    services: dict[str, "Price"] = {}
    surcharges: dict[str, Decimal] = {}
    search: Decimal | None = None
    search_once: bool = False

    def rates(self, prompt: int) -> Rates:
        """The rates of the highest tier that the prompt's tokens exceed."""
        return self._tier(prompt) or self

    def cost_of(self, tokens: Tokens, terms: Terms = STANDARD_TERMS) -> Decimal | None:
        """What an answer costs; None if that rests on a price that is not known."""
        if self.free and not terms.searches:
            return Decimal(0)
        rates = self._rates_on(terms, tokens)
        if rates is None or terms.unpriced or (terms.searches and self.search is None):
            return None
        factors = (self.surcharges[name] for name in terms.surcharges)
        searches = min(terms.searches, 1) if self.search_once else terms.searches
        return math.prod(factors, start=rates.cost(tokens, terms)) + searches * (self.search or 0)

    def highest_cost(self, tokens: Tokens) -> Decimal:
        """What an answer of unknown cost has cost at most, as far as prices are known."""
        costs = [each.rates(tokens.prompt).cost(tokens) for each in (self, *self.services.values())]
        return math.prod((factor for factor in self.surcharges.values() if factor > 1), start=max(costs))

    def _rates_on(self, terms: Terms, tokens: Tokens) -> Rates | None:
        """None without a rate of what was used."""
        served = self.services.get(terms.service) if terms.service else self
        known = served and self.surcharges.keys() >= set(terms.surcharges)
        if served is None or not known or (self._tier(tokens.prompt) and not served._tier(tokens.prompt)):
            return None
        usual, rates, used = self.rates(tokens.prompt), served.rates(tokens.prompt), dict(tokens) | dict(terms)
        needed = [name for name in _OPTIONAL if getattr(usual, name) is not None] + ["cache_write_long"]
        return None if any(used[name] and getattr(rates, name) is None for name in needed) else rates

    def _tier(self, prompt: int) -> PriceTier | None:
        return max((tier for tier in self.tiers if prompt > tier.above), key=lambda tier: tier.above, default=None)

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


def unusual(name: object) -> str | None:
    """A provider's word for a tier of service, a speed or a place, unless that is the standard one."""
    word = str(name or "").lower().removeprefix("on_demand_")
    return None if word in _USUAL else word


def decimal_text(amount: Decimal) -> str:
    """Plain digits, no exponent, no trailing zeros."""
    return format(amount.normalize(), "f")


def _count(reported: float | None) -> int:
    return max(0, int(reported)) if reported is not None and math.isfinite(reported) else 0


def _split_cost(rate: Decimal, tokens: int, other: Decimal | None, among: int) -> Decimal:
    """`among` the tokens are at most all of them, at the `other` rate."""
    if other is None:
        return rate * tokens
    return rate * max(0, tokens - among) + other * min(tokens, among)


def _or(rate: Decimal | None, otherwise: Decimal) -> Decimal:
    return otherwise if rate is None else rate
