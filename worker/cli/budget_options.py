"""`--max-cost` and the other limits of what a session may use."""

import functools
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import click

from worker.cli.command_support import options
from worker.cli.person_check import require_person
from worker.settings import Settings
from workflows.domain.budgets import BudgetLimits, ChosenLimits, OnLimit, Unit, parse_cost

_TIME: Final = re.compile(r"(?:(\d{1,6})h)?\s*(?:(\d{1,6})m?)?")


class _Dollars(click.ParamType[Decimal]):
    name = "dollars"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            return parse_cost(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class _Duration(click.ParamType[int]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _TIME.fullmatch(str(value).strip())
        seconds = 3600 * int(found[1] or 0) + 60 * int(found[2] or 0) if found else 0
        if not seconds:
            self.fail(f"{value!r} is no time, as in 90m or 2h30m.", param, ctx)
        return seconds


_OPTIONS: Final = options(
    click.option("--max-cost", type=_Dollars(), metavar="DOLLARS", help="What the session may cost, with subagents."),
    click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="How many tokens it may take."),
    click.option("--max-steps", type=click.IntRange(1), metavar="N", help="How many answers of a model it may take."),
    click.option("--max-time", type=_Duration(), metavar="TIME", help="How long it may take from now on, as in 2h30m."),
    click.option("--turn-max-cost", type=_Dollars(), metavar="DOLLARS", help="What this turn alone may cost."),
    click.option("--turn-max-tokens", type=click.IntRange(1), metavar="N", help="How many tokens it may take."),
    click.option("--turn-max-steps", type=click.IntRange(1), metavar="N", help="How many answers it may take."),
    click.option("--turn-max-time", type=_Duration(), metavar="TIME", help="How long it may take."),
    click.option(
        "--on-limit",
        type=click.Choice([str(each) for each in OnLimit]),
        help="At each limit that the session reaches: ask, or finish with one last answer.",
    ),
)


def budget_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command's callback, which gets `limits`: a person's, in place of the configuration's."""

    @functools.wraps(command)
    def with_limits(*arguments: Any, on_limit: str | None, **typed: Any) -> int:
        session, turn = _limits(typed, "max_"), _limits(typed, "turn_max_")
        rule = OnLimit(on_limit) if on_limit is not None else None
        limits = ChosenLimits(
            session=session.model_copy(update={"on_limit": rule}) if session.any or rule is not None else None,
            turn=turn if turn.any else None,
        )
        if limits.session or limits.turn:
            require_person(Settings.read())
        return command(*arguments, limits=limits, **typed)

    return _OPTIONS(with_limits)


def _limits(typed: dict[str, Any], prefix: str) -> BudgetLimits:
    """Take the limits out of what was typed."""
    return BudgetLimits(**{str(unit): typed.pop(f"{prefix}{unit}") for unit in Unit})
