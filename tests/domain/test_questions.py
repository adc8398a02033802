"""What answers questions, and what settles an ask."""

import pytest

from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.replies import AskDecision, Reply, decision_problem
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.questions import Answers, Option, Question, QuestionRequest, answers_problem

ONE = Question(question="Which?", header="Base", options=(Option(label="A"), Option(label="B")))
SEVERAL = ONE.model_copy(update={"multiple": True})
CLOSED = ONE.model_copy(update={"custom": False})
ASKED = QuestionRequest(questions=(ONE,))


@pytest.mark.parametrize(
    ("questions", "answers", "problem"),
    [
        ((ONE,), (("A",),), None),
        ((ONE,), (("neither",),), None),
        ((ONE, CLOSED), ((), ("B",)), None),
        ((SEVERAL,), (("A", "B", "and C"),), None),
        ((ONE,), (), "1 answers are needed, but 0 were given."),
        ((ONE,), ((),), "No question is answered."),
        ((ONE,), ((" ",),), "An answer to 'Base' is empty."),
        ((ONE,), (("A", "B"),), "'Base' takes one answer, but 2 were given."),
        ((SEVERAL,), (("A", "A"),), "An answer to 'Base' is given twice."),
        ((SEVERAL,), (("x", "y"),), "'y' is not an option of 'Base'."),
        ((CLOSED,), (("C",),), "'C' is not an option of 'Base': 'A', 'B'."),
    ],
)
def test_answers_fit_their_questions(questions: tuple[Question, ...], answers: Answers, problem: str | None) -> None:
    assert answers_problem(questions, answers) == problem


def test_a_question_is_answered_or_dismissed_and_a_permission_is_not_answered_in_words() -> None:
    permission = PermissionAsk(requests=(PermissionRequest(permission="bash", patterns=("x",)),))
    in_words = AskDecision(reply=Reply.ANSWER, answers=(("A",),))
    assert decision_problem(ASKED, in_words) is decision_problem(ASKED, AskDecision(reply=Reply.REJECT)) is None
    refused = [
        decision_problem(ASKED, AskDecision(reply=Reply.ALWAYS)),
        decision_problem(ASKED, AskDecision(reply=Reply.ANSWER)),
        decision_problem(permission, in_words),
        decision_problem(permission, AskDecision(reply=Reply.ONCE, answers=(("A",),))),
    ]
    assert all(refused)


@pytest.mark.parametrize(("rule", "found"), [("allow", "ask"), ("ask", "ask"), ("deny", "deny")])
def test_no_rule_answers_a_question(rule: str, found: str) -> None:
    rules = (Rule(permission="question", pattern="*", action=Action(rule)),)
    assert evaluate_request(ASKED, rules).action is Action(found)
