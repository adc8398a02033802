"""Limits: when a request may be sent, and what a person may choose at one."""

from decimal import Decimal

import pytest

from workflows.domain.budgets import (
    BudgetLimits,
    Full,
    Open,
    Room,
    Scope,
    Spent,
    Unit,
    Usage,
    describe,
    describe_use,
    estimate,
    room,
)
from workflows.domain.permissions.replies import AskDecision, Reply, decision_problem
from workflows.domain.turn_questions import More, limit_question, read_choice
from workflows.domain.usage import Price, Terms

FIVE = BudgetLimits(cost=Decimal(5), steps=10)
PRICE = Price(input=Decimal(3), output=Decimal(15))


@pytest.mark.parametrize(
    ("used", "reserved", "found"),
    [
        (Usage(), Usage(), Open()),
        (Usage(cost=Decimal("3.99"), steps=7), Usage(), Open()),
        (Usage(cost=Decimal(4)), Usage(), Open(nearly=Unit.COST)),
        (Usage(steps=8), Usage(cost=Decimal("4.9")), Open(nearly=Unit.STEPS)),
        (Usage(cost=Decimal(3)), Usage(cost=Decimal(2)), Full(unit=Unit.COST)),
        (Usage(cost=Decimal(5)), Usage(), Spent(unit=Unit.COST)),
        (Usage(cost=Decimal(3), steps=10), Usage(cost=Decimal(2)), Spent(unit=Unit.STEPS)),
    ],
)
def test_a_request_is_sent_below_the_limit_with_all_that_is_reserved(used: Usage, reserved: Usage, found: Room) -> None:
    assert room(FIVE, used, reserved) == found


def test_twenty_at_once_pass_a_limit_by_less_than_one_reservation() -> None:
    needed = estimate(100_000, 32_000, PRICE)
    reserved = Usage()
    for _ in range(20):
        if isinstance(room(FIVE, Usage(), reserved), Open):
            reserved += needed.whole
    assert needed.whole.cost == Decimal("0.78") and needed.sent.cost == Decimal("0.3")
    assert FIVE.cost is not None and FIVE.cost <= reserved.cost < FIVE.cost + needed.whole.cost


def test_an_estimate_is_of_the_dearest_that_a_request_may_use_on_the_terms_it_asks_for() -> None:
    usual = Price(input=Decimal(2), output=Decimal(3), reasoning=Decimal(4), cache_write=Decimal("2.5"))
    price = usual.model_copy(update={"services": {"priority": Price(input=Decimal(10), output=Decimal(20))}})
    asked, unknown = Terms(service="priority"), Terms(service="flex")

    found = [estimate(1_000_000, 1_000_000, price, terms) for terms in (Terms(), asked, unknown)]

    assert [(each.whole.cost, each.sent.cost) for each in found] == [
        (Decimal("6.5"), Decimal("2.5")),
        (Decimal(30), Decimal(10)),
        (Decimal(30), Decimal(10)),
    ]


@pytest.mark.parametrize(
    ("typed", "choice"),
    [
        ("Go on", More(unit=Unit.TIME, amount=Decimal(3600))),
        ("15", More(unit=Unit.TIME, amount=Decimal(900))),
        ("0.001", More(unit=Unit.TIME, amount=Decimal(1))),
        ("Finish", "Finish"),
        ("End", "End"),
    ],
)
def test_a_person_chooses_at_a_limit(typed: str, choice: More | str) -> None:
    limits = BudgetLimits(time=3600)
    question = limit_question("ses_1", Scope.SESSION, Unit.TIME, limits, Usage(time=3700), 1)
    decision = AskDecision(reply=Reply.ANSWER, answers=((typed,),))
    assert decision_problem(question, decision) is None and read_choice(question, decision) == choice
    assert read_choice(question, AskDecision(reply=Reply.REJECT)) == "End"


@pytest.mark.parametrize("typed", ["a lot", "-1", "0", "1e99", "nan", "1 2"])
def test_what_is_no_amount_is_refused(typed: str) -> None:
    question = limit_question("ses_1", Scope.SESSION, Unit.COST, FIVE, Usage(cost=Decimal(5)), 1)
    problem = decision_problem(question, AskDecision(reply=Reply.ANSWER, answers=((typed,),)))
    assert problem is not None and "neither a number above 0 nor one of 'Go on'" in problem


def test_the_question_names_the_limit_and_how_many_sessions_have_used_it() -> None:
    (day,) = limit_question("day:", Scope.DAY, Unit.COST, FIVE, Usage(cost=Decimal("5.2")), 7).questions
    assert day.question.startswith("The limit of today is reached: $5.20 of $5.00 used by 7 sessions.")
    assert "goes on when the next day begins" in day.question
    (turn,) = limit_question("trn_1", Scope.TURN, Unit.STEPS, FIVE, Usage(steps=10), 1).questions
    assert "limit of this turn is reached: 10 of 10 steps used by 1 session." in turn.question
    assert "next day" not in turn.question


def test_amounts_are_shown_as_people_write_them() -> None:
    shown = [
        describe(Unit.COST, Decimal("1.5")),
        describe(Unit.COST, Decimal("0.0042")),
        describe_use(Unit.COST, Decimal("0.0134"), Decimal("0.012")),
        describe_use(Unit.STEPS, Decimal(4), Decimal(3)),
        describe(Unit.TIME, Decimal(5461)),
        describe(Unit.TOKENS, Decimal(2e6)),
    ]
    assert shown == ["$1.50", "$0.0042", "$0.0134 of $0.0120", "4 of 3 steps", "1 h 32 min", "2,000,000 tokens"]
