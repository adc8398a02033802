"""What turns, sessions and days may use; in the log of the session that asked or was answered.

Amounts are text: dollars, tokens, steps or seconds. `budget`: the id of its row; that of a session is its own.
"""

from typing import Literal

from workflows.domain.budgets import Scope
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, TurnId
from workflows.domain.value import Value


class BudgetSet(Value):
    """Limits by a person's flags or the configuration; None: no limit of this unit."""

    type: Literal["budget.set"] = "budget.set"
    scope: Scope = Scope.SESSION
    cost: str | None
    tokens: int | None
    steps: int | None
    time: int | None
    on_limit: str | None


class BudgetNearlySpent(Value):
    """Most of a limit is used."""

    type: Literal["budget.nearly_spent"] = "budget.nearly_spent"
    budget: str
    scope: Scope = Scope.SESSION
    unit: str
    used: str
    limit: str


class BudgetSpent(Value):
    """A limit is reached: a person is asked, or the turn finishes by a rule."""

    type: Literal["budget.spent"] = "budget.spent"
    budget: str
    scope: Scope = Scope.SESSION
    turn: TurnId
    unit: str
    used: str
    limit: str
    on_limit: str


class BudgetRaised(Value):
    type: Literal["budget.raised"] = "budget.raised"
    budget: str
    scope: Scope = Scope.SESSION
    unit: str
    by: str


class UsageEstimated(Value):
    """The use of a request is estimated: it got no answer, its provider did not count it, or its cost is unknown."""

    type: Literal["usage.estimated"] = "usage.estimated"
    generation: GenerationId
    purpose: Purpose
    cost: str
    tokens: int
