"""Questions: what a person is asked in words, and what may answer them."""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final, TypeAlias

from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.value import Value

PERMISSION: Final = "question"  # its rules only decide which agents may ask
_MODEL: Final = re.compile(r"[^/\s]+/\S+")


class AskKind(StrEnum):
    PERMISSION = "permission"
    QUESTION = "question"


class Option(Value):
    label: str
    description: str = ""


class Question(Value):
    """`header`: a few words for it. `multiple`: several options may be chosen; `custom`: own words are an answer, or
    only a `number`, or the name of a `model`."""

    question: str
    header: str = ""
    options: tuple[Option, ...] = ()
    multiple: bool = False
    custom: bool = True
    number: bool = False
    model: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(option.label for option in self.options)


class QuestionRequest(Value):
    """The body of an ask of the kind question. At the limit of a `budget`: its unit (`limit`) and `amount`."""

    questions: tuple[Question, ...]
    budget: str | None = None
    limit: str | None = None
    amount: str | None = None

    @property
    def permission(self) -> str:
        return PERMISSION

    @property
    def at_limit(self) -> str | None:
        """See `limit_name`."""
        return None if self.limit is None or self.amount is None else limit_name(self.limit, self.amount)


def limit_name(unit: str, amount: str) -> str:
    """What the asks at one limit have in common: a budget may have several, and the turns of a day different ones."""
    return f"{unit} {amount}"


def turn_subject(body: Mapping[str, object]) -> str:
    """What a turn asks about itself, in place of a tool's name. `body`: of its ask, as stored."""
    return "budget" if body.get("limit") is not None else "context"


CallRequest: TypeAlias = PermissionRequest | QuestionRequest
AskBody: TypeAlias = PermissionAsk | QuestionRequest
Answers: TypeAlias = tuple[tuple[str, ...], ...]  # for each question: labels and own words; none: unanswered


def answers_problem(questions: tuple[Question, ...], answers: Answers) -> str | None:
    """Why these cannot be the answers; None: they can."""
    if len(questions) != len(answers):
        return f"{len(questions)} answers are needed, but {len(answers)} were given."
    if not any(answers):
        return "No question is answered."
    found = (_answer_problem(question, answer) for question, answer in zip(questions, answers, strict=True))
    return next((problem for problem in found if problem is not None), None)


def _answer_problem(question: Question, answer: tuple[str, ...]) -> str | None:
    name = question.header or question.question[:60]
    if len(answer) > 1 and not question.multiple:
        return f"{name!r} takes one answer, but {len(answer)} were given."
    if any(not each.strip() for each in answer):
        return f"An answer to {name!r} is empty."
    if len(set(answer)) < len(answer):
        return f"An answer to {name!r} is given twice."
    strange = [each for each in answer if each not in question.labels]
    if len(strange) > 1:
        return f"{strange[1]!r} is not an option of {name!r}."
    if strange and not question.custom:
        return f"{strange[0]!r} is not an option of {name!r}: {', '.join(map(repr, question.labels))}."
    if strange and question.number and parse_amount(strange[0]) is None:
        return f"{strange[0]!r} is neither a number above 0 nor one of {', '.join(map(repr, question.labels))}."
    if strange and question.model and _MODEL.fullmatch(strange[0].strip()) is None:
        return f"{strange[0]!r} is neither a model (provider/model) nor one of {', '.join(map(repr, question.labels))}."
    return None


def parse_amount(text: str) -> Decimal | None:
    """A positive number, or None."""
    try:
        amount = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 < amount < 10**12 else None
