"""A budget in words."""

from decimal import Decimal
from typing import TYPE_CHECKING

from worker.api.budgets import BudgetOverview
from workflows.domain.budget_question import scope_name
from workflows.domain.budgets import Unit, describe, describe_use
from workflows.domain.events.budgets import BudgetNearlySpent, BudgetRaised, BudgetSet, BudgetSpent, UsageEstimated

if TYPE_CHECKING:  # start-up time
    from workflows.domain.events.event import Event

_YELLOW = "yellow"


def budget_sentence(event: "Event") -> tuple[str, str | None] | None:
    """For people who follow a session, with its style."""
    match event:
        case BudgetSet():
            units = {Unit.COST: event.cost, Unit.TOKENS: event.tokens, Unit.STEPS: event.steps, Unit.TIME: event.time}
            limits = ", ".join(describe(unit, Decimal(limit)) for unit, limit in units.items() if limit is not None)
            rule = "" if event.on_limit is None else f" At a limit: {event.on_limit}."
            return f"Budget of {scope_name(event.scope)}: {limits or 'no limit of its own'}.{rule}", "dim"
        case BudgetNearlySpent(scope=scope, unit=unit, used=used, limit=limit):
            return f"! Most of the budget of {scope_name(scope)} is used: {_of(unit, used, limit)}.", _YELLOW
        case BudgetSpent(scope=scope, unit=unit, used=used, limit=limit, on_limit=rule):
            then = ": it finishes with one last answer" if rule == "finish" else ""
            return f"! The budget of {scope_name(scope)} is spent: {_of(unit, used, limit)}{then}.", _YELLOW
        case BudgetRaised(scope=scope, unit=unit, by=by):
            return f"The budget of {scope_name(scope)} is raised by {describe(Unit(unit), Decimal(by))}.", None
        case UsageEstimated(cost=cost, tokens=tokens):
            dollars = describe(Unit.COST, Decimal(cost))
            return f"The use of a request is estimated: {tokens:,} tokens, {dollars} count for it.", "dim"
    return None


def describe_budget(budget: BudgetOverview) -> str:
    limits = {unit: limit for unit in Unit if (limit := budget.limits.of(unit)) is not None}
    used = "; ".join(describe_use(unit, budget.used.of(unit), limit) for unit, limit in limits.items())
    guessed = f" ({describe(Unit.COST, budget.estimated)} of it estimated)" if budget.estimated else ""
    reserved = ", ".join(describe(unit, held) for unit in limits if (held := budget.reserved.of(unit)))
    running = f"; running requests may use {reserved} more" if reserved else ""
    name = scope_name(budget.scope)
    return f"{name[0].upper()}{name[1:]}: {used} used{guessed}{running}."


def _of(unit: str, used: str, limit: str) -> str:
    return describe_use(Unit(unit), Decimal(used), Decimal(limit))
