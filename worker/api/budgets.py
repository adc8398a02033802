"""What a session may use."""

from decimal import Decimal

from workflows.domain.budgets import BudgetLimits, Usage
from workflows.domain.ids import SessionId
from workflows.domain.value import Value


class BudgetOverview(Value):
    """The limits of the `session` at the top of a tree, what it and its subagents have used, and how many dollars of
    that no provider has counted."""

    session: SessionId
    limits: BudgetLimits
    used: Usage
    estimated: Decimal
