"""Budgets: what a turn, a session and a day may use; pure decisions."""

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

from workflows.domain.questions import parse_amount
from workflows.domain.usage import STANDARD_TERMS, Price, Terms, Tokens
from workflows.domain.value import Value

LEAST_COST: Final = Decimal("0.0001")  # dollars: a smaller limit is a slip of the keyboard
_NEARLY: Final = Decimal("0.8")  # of a limit: the person gets a warning
_CHARS_PER_TOKEN: Final = 4


class Scope(StrEnum):
    """What a budget counts: a person's turn or session, each with its subagents, or all that sessions use on a day, in
    a project or on a host. Their rows are locked in this order."""

    TURN = "turn"
    SESSION = "session"
    PROJECT = "project"
    DAY = "day"

    @property
    def daily(self) -> bool:
        return self in (Scope.PROJECT, Scope.DAY)


class Unit(StrEnum):
    COST = "cost"
    TOKENS = "tokens"
    STEPS = "steps"
    TIME = "time"


class OnLimit(StrEnum):
    """What happens at a limit: a person is asked, or the turn ends with one last step in text only."""

    ASK = "ask"
    FINISH = "finish"


def parse_cost(text: str) -> Decimal:
    """A limit in US dollars. Raises ValueError."""
    amount = parse_amount(text)
    if amount is None or amount < LEAST_COST:
        raise ValueError(f"{text!r} is no amount of dollars, as in 5 or 0.50; the least is {LEAST_COST}")
    return amount


class Raise(Value):
    """What a person has added to a limit, as it had been set."""

    unit: Unit
    limit: Decimal
    by: Decimal


class BudgetLimits(Value):
    """`cost` in US dollars, `time` in seconds by the clock, waits included; None: no limit."""

    cost: Decimal | None = None
    tokens: int | None = None
    steps: int | None = None
    time: int | None = None
    on_limit: OnLimit | None = None

    @property
    def any(self) -> bool:
        return any(self.of(unit) is not None for unit in Unit)

    def of(self, unit: Unit) -> Decimal | None:
        limit = {Unit.COST: self.cost, Unit.TOKENS: self.tokens, Unit.STEPS: self.steps, Unit.TIME: self.time}[unit]
        return None if limit is None else Decimal(limit)

    def raised(self, raises: Iterable[Raise]) -> "BudgetLimits":
        """With what was added to these limits; of a day's budget, which turns with other limits use, too."""
        raises = tuple(raises)
        limits = {unit: limit for unit in Unit if (limit := self.of(unit)) is not None}
        for unit, limit in limits.items():
            limits[unit] += sum(each.by for each in raises if (each.unit, each.limit) == (unit, limit))
        values = {str(unit): limit if unit is Unit.COST else int(limit) for unit, limit in limits.items()}
        return self.model_copy(update=values)


class ChosenLimits(Value):
    """What a person sets as a prompt is sent: for the session, and for the turn that the prompt opens."""

    session: BudgetLimits | None = None
    turn: BudgetLimits | None = None

    @property
    def of_cost(self) -> bool:
        return any(limits is not None and limits.cost is not None for limits in (self.session, self.turn))


class Usage(Value):
    """What was used, or is reserved."""

    cost: Decimal = Decimal(0)
    tokens: int = 0
    steps: int = 0
    time: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            cost=self.cost + other.cost,
            tokens=self.tokens + other.tokens,
            steps=self.steps + other.steps,
            time=self.time + other.time,
        )

    def of(self, unit: Unit) -> Decimal:
        counts = {Unit.TOKENS: self.tokens, Unit.STEPS: self.steps, Unit.TIME: self.time}
        return self.cost if unit is Unit.COST else Decimal(counts[unit])


class Estimate(Value):
    """What a request may use at most (`whole`), and what it uses as soon as it is sent (`sent`)."""

    whole: Usage
    sent: Usage


class Open(Value):
    """A request may be sent. `nearly`: a unit that is mostly used, if the person should be warned now."""

    nearly: Unit | None = None


class Full(Value):
    """What others have reserved would use up the limit: wait for what they really use."""

    unit: Unit


class Spent(Value):
    """The limit of this unit is reached."""

    unit: Unit


Room: TypeAlias = Open | Full | Spent


def room(limits: BudgetLimits, used: Usage, reserved: Usage) -> Room:
    """Whether one more request may be sent. Each begins below the limit, with all that others have reserved: so all
    together pass it by less than one reservation."""
    limited = [(unit, limit) for unit in Unit if (limit := limits.of(unit)) is not None]
    spent = next((unit for unit, limit in limited if used.of(unit) >= limit), None)
    if spent is not None:
        return Spent(unit=spent)
    full = next((unit for unit, limit in limited if (used + reserved).of(unit) >= limit), None)
    if full is not None:
        return Full(unit=full)
    return Open(nearly=next((unit for unit, limit in limited if used.of(unit) >= limit * _NEARLY), None))


def estimate(context: int, output: int, price: Price | None, terms: Terms = STANDARD_TERMS) -> Estimate:
    """The most that a request with `context` tokens may use, if its answer may have `output` tokens: all that is sent
    may be written to a cache, and all that comes may be reasoning."""
    prompts = (Tokens(input=context), Tokens(cache_write=context))
    answers = (Tokens(output=output), Tokens(reasoning=output))
    return Estimate(
        whole=_dearest((prompt + answer for prompt in prompts for answer in answers), price, terms, steps=1),
        sent=_dearest(prompts, price, terms),
    )


def _dearest(kinds: Iterable[Tokens], price: Price | None, terms: Terms, steps: int = 0) -> Usage:
    return max((usage_of(each, price, terms, steps) for each in kinds), key=lambda usage: usage.cost)


def produced(chars: int, price: Price | None, terms: Terms = STANDARD_TERMS) -> Usage:
    """What has come of an answer that broke off."""
    return usage_of(Tokens(output=chars // _CHARS_PER_TOKEN), price, terms)


def usage_of(tokens: Tokens, price: Price | None, terms: Terms = STANDARD_TERMS, steps: int = 0) -> Usage:
    """At the dearest known rates if the price on these terms is not known."""
    cost = price.cost_of(tokens, terms) if price is not None else Decimal(0)
    if price is not None and cost is None:
        cost = price.highest_cost(tokens)
    return Usage(cost=cost or Decimal(0), tokens=tokens.prompt + tokens.output + tokens.reasoning, steps=steps)


def describe(unit: Unit, amount: Decimal) -> str:
    """An amount for people."""
    match unit:
        case Unit.COST:
            return f"${amount:.2f}" if amount == round(amount, 2) else f"${amount:.4f}"
        case Unit.TIME:
            hours, minutes = divmod(-(-int(amount) // 60), 60)
            return f"{hours} h {minutes} min" if hours else f"{minutes} min"
        case _:
            return f"{int(amount):,} {unit if amount != 1 else str(unit).removesuffix('s')}"


class BudgetOverview(Value):
    """The limits of the turn or session at the top of a tree, or of a day (in a `worktree`); what is used of them, how
    many dollars of that no provider has counted, and what running requests have `reserved`."""

    id: str
    scope: Scope
    worktree: str | None
    limits: BudgetLimits
    used: Usage
    reserved: Usage
    estimated: Decimal


def describe_use(unit: Unit, used: Decimal, limit: Decimal) -> str:
    """How much of a limit is used."""
    amount = f"{int(used):,}" if unit in (Unit.TOKENS, Unit.STEPS) else describe(unit, used)
    return f"{amount} of {describe(unit, limit)}"


def unpriced_text(model: str, price: Price | None, terms: Terms) -> str | None:
    """Why a limit of cost cannot be kept with a model whose options ask for these terms; None: it can be."""
    provider, _, name = model.partition("/")
    remedy = f"write it as `provider.{provider}.models.{name}.cost` into your configuration"
    if price is not None:
        if price.cost_of(Tokens(input=1, output=1, cache_read=1, cache_write=1), terms) is not None:
            return None
        asked = filter(None, (terms.service, *terms.surcharges, "caching for long" if terms.cache_write_long else ""))
        model += f" with what its options ask for ({', '.join(asked)})"
        remedy = "leave that out"
    return (
        f"The price of {model} is not known, so a limit of cost cannot be kept: {remedy}, or limit the tokens instead "
        "(--max-tokens)."
    )
