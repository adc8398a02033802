"""What turns, sessions and days may use."""

from decimal import Decimal

from workflows.domain.budgets import BudgetLimits, Scope, Usage
from workflows.domain.value import Value


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
