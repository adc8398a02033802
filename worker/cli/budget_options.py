"""`--max-cost` and the other limits of what a session may use."""

import functools
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import click

from workflows.domain.budgets import BudgetLimits
from workflows.domain.questions import parse_amount

_TIME: Final = re.compile(r"(?:(\d+)h)?\s*(?:(\d+)m?)?")


class _Dollars(click.ParamType[Decimal]):
    name = "dollars"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        amount = parse_amount(str(value))
        if amount is None:
            self.fail(f"{value!r} is no amount of dollars, as in 5 or 0.50.", param, ctx)
        return amount


class _Duration(click.ParamType[int]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _TIME.fullmatch(str(value).strip())
        seconds = 3600 * int(found[1] or 0) + 60 * int(found[2] or 0) if found else 0
        if not seconds:
            self.fail(f"{value!r} is no time, as in 90m or 2h30m.", param, ctx)
        return seconds


_OPTIONS: Final = (
    click.option("--max-cost", type=_Dollars(), metavar="DOLLARS", help="What the session may cost, with subagents."),
    click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="How many tokens it may take."),
    click.option("--max-steps", type=click.IntRange(1), metavar="N", help="How many answers of a model it may take."),
    click.option("--max-time", type=_Duration(), metavar="TIME", help="How long it may take from now on, as in 2h30m."),
)


def budget_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command's callback, which gets `limits`: None without any."""

    @functools.wraps(command)
    def with_limits(
        *arguments: Any,
        max_cost: Decimal | None,
        max_tokens: int | None,
        max_steps: int | None,
        max_time: int | None,
        **options: Any,
    ) -> int:
        limits = BudgetLimits(cost=max_cost, tokens=max_tokens, steps=max_steps, time=max_time)
        return command(*arguments, limits=limits if limits.any else None, **options)

    found: Callable[..., int] = with_limits
    for option in reversed(_OPTIONS):
        found = option(found)
    return found
