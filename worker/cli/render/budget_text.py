"""A budget in words."""

from decimal import Decimal

from worker.api.budgets import BudgetOverview
from workflows.domain.budgets import Unit, describe, describe_use
from workflows.domain.events.budgets import BudgetNearlySpent, BudgetRaised, BudgetSet, BudgetSpent, UsageEstimated
from workflows.domain.events.event import Event

_YELLOW = "yellow"


def budget_sentence(event: Event) -> tuple[str, str | None] | None:
    """For people who follow a session, with its style."""
    match event:
        case BudgetSet():
            units = {Unit.COST: event.cost, Unit.TOKENS: event.tokens, Unit.STEPS: event.steps, Unit.TIME: event.time}
            limits = ", ".join(describe(unit, Decimal(limit)) for unit, limit in units.items() if limit is not None)
            return f"With its subagents it may use {limits or 'any amount'}.", "dim"
        case BudgetNearlySpent(unit=unit, used=used, limit=limit):
            return f"! Most of the budget is used: {_of(unit, used, limit)}.", _YELLOW
        case BudgetSpent(unit=unit, used=used, limit=limit, on_limit=rule):
            then = ": it finishes with one last answer" if rule == "finish" else ""
            return f"! The budget is spent: {_of(unit, used, limit)}{then}.", _YELLOW
        case BudgetRaised(unit=unit, by=by):
            return f"The budget is raised by {describe(Unit(unit), Decimal(by))}.", None
        case UsageEstimated(cost=cost, tokens=tokens):
            dollars = describe(Unit.COST, Decimal(cost))
            return f"No provider counted a request: an estimated {tokens:,} tokens, {dollars} count for it.", "dim"
    return None


def describe_budget(budget: BudgetOverview) -> str:
    used = "; ".join(describe_use(budget.limits, budget.used))
    guessed = f" ({describe(Unit.COST, budget.estimated)} of it estimated)" if budget.estimated else ""
    return f"Used, with subagents: {used}{guessed}."


def _of(unit: str, used: str, limit: str) -> str:
    return f"{describe(Unit(unit), Decimal(used))} of {describe(Unit(unit), Decimal(limit))}"
