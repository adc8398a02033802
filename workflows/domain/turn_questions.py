"""What a turn asks a person itself: at the limit of a budget, or where its conversation does not fit its model."""

import hashlib
from decimal import ROUND_CEILING, Decimal
from typing import Final

from workflows.domain.budgets import BudgetLimits, Scope, Unit, Usage, describe, describe_use
from workflows.domain.hash_chain import canonical_json
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.questions import AskBody, Option, Question, QuestionRequest, parse_amount
from workflows.domain.usage import decimal_text
from workflows.domain.value import Value

GO_ON: Final = "Go on"
FINISH: Final = "Finish"
END: Final = "End"
_NAMES: Final = {
    Scope.TURN: "this turn",
    Scope.SESSION: "this session",
    Scope.PROJECT: "this project for today",
    Scope.DAY: "today",
}
AGAIN: Final = "Try again"
_MOST_REASON: Final = 500  # characters


def scope_name(scope: Scope) -> str:
    """The scope's name for people."""
    return _NAMES[scope]


def limit_question(
    budget: str, scope: Scope, unit: Unit, limits: BudgetLimits, used: Usage, sessions: int
) -> QuestionRequest:
    """`sessions`: how many have used it."""
    limit = limits.of(unit) or Decimal(0)
    what = {Unit.COST: "dollars", Unit.TIME: "minutes"}.get(unit, str(unit))
    by = "" if unit is Unit.TIME else f" by {sessions} session{'' if sessions == 1 else 's'}"
    lapses = " Without an answer it goes on when the next day begins, at 0:00 UTC." if scope.daily else ""
    question = Question(
        question=f"The limit of {scope_name(scope)} is reached: "
        f"{describe_use(unit, used.of(unit), limit)} used{by}. How should it continue? `+5` adds 5 {what}."
        f"{lapses}",
        header="Budget",
        options=(
            Option(label=GO_ON, description=f"with {describe(unit, limit)} more"),
            Option(label=FINISH, description="with one last answer, without tools"),
            Option(label=END, description="the turn stops now"),
        ),
        number=True,
    )
    return QuestionRequest(questions=(question,), budget=budget, limit=unit, amount=decimal_text(limit))


def is_at_limit(body: AskBody) -> bool:
    return isinstance(body, QuestionRequest) and body.limit is not None


def question_digest(request: QuestionRequest) -> str:
    return hashlib.sha256(canonical_json(request.model_dump(mode="json"))).hexdigest()


class More(Value):
    """The limit is raised."""

    unit: Unit
    amount: Decimal


def read_choice(request: QuestionRequest, decision: AskDecision) -> More | str:
    """What a person has chosen at a limit: how much more, FINISH or END. A dismissed question ends the turn."""
    if decision.reply is Reply.REJECT or not decision.answers:
        return END
    (chosen,) = decision.answers[0]
    if chosen in (FINISH, END):
        return chosen
    unit = Unit(request.limit or Unit.COST)
    if chosen == GO_ON:
        return More(unit=unit, amount=Decimal(request.amount or 0))
    amount = (parse_amount(chosen) or Decimal(0)) * (60 if unit is Unit.TIME else 1)
    whole = amount.to_integral_value(ROUND_CEILING)  # less than one more would be asked about again at once
    return More(unit=unit, amount=amount if unit is Unit.COST else whole)


def overflow_question(model: str, reason: str) -> QuestionRequest:
    question = Question(
        question=f"{reason[:_MOST_REASON]} How shall the turn go on? A model's name (provider/model) has that one take "
        "over.",
        header="Context",
        options=(
            Option(label=AGAIN, description=f"{model} is asked again, and it is compacted anew"),
            Option(label=END, description="the turn stops now"),
        ),
        model=True,
    )
    return QuestionRequest(questions=(question,))


def read_overflow_choice(decision: AskDecision) -> str:
    """AGAIN, END, or the model that takes over. A dismissed question ends the turn."""
    if decision.reply is Reply.REJECT or not decision.answers:
        return END
    (chosen,) = decision.answers[0]
    return chosen.strip()
