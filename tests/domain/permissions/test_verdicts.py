"""From findings and answers to verdicts."""

from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.rules import Action
from workflows.domain.permissions.verdicts import Allow, Ask, Deny, verdict

ALLOW, ASK, DENY = (Finding(permission="bash", action=action) for action in Action)


def test_a_deny_wins_before_anything_is_asked() -> None:
    assert verdict({0: ASK, 1: ALLOW, 2: DENY}) == Deny(2)


def test_a_deny_holds_against_every_answer() -> None:
    assert verdict({0: DENY}, [0]) == Deny(0)


def test_permissions_are_asked_for_together_and_before_each_question() -> None:
    question = Finding(permission="question", action=Action.ASK)
    findings = {-1: ASK, 0: ALLOW, 1: ASK, 2: question, 3: question}
    answered: tuple[list[int], ...] = ([], [-1], [-1, 1], [-1, 1, 2], [-1, 1, 2, 3])
    asked = [Ask((-1, 1)), Ask((1,)), Ask((2,)), Ask((3,)), Allow()]
    assert [verdict(findings, each) for each in answered] == asked


def test_a_call_without_requests_is_allowed() -> None:
    assert verdict({}) == Allow()
