"""From findings and answers to verdicts."""

from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.rules import Action
from workflows.domain.permissions.verdicts import Allow, Ask, Deny, verdict

ALLOW, ASK, DENY = (Finding(permission="bash", action=action) for action in Action)


def test_a_deny_wins_before_anything_is_asked() -> None:
    assert verdict({0: ASK, 1: ALLOW, 2: DENY}) == Deny(2)


def test_a_deny_holds_against_every_answer() -> None:
    assert verdict({0: DENY}, [0]) == Deny(0)


def test_questions_come_one_after_the_other() -> None:
    findings = {-1: ASK, 0: ALLOW, 1: ASK}
    assert [verdict(findings, answered) for answered in ([], [-1], [-1, 1])] == [Ask(-1), Ask(1), Allow()]


def test_a_call_without_requests_is_allowed() -> None:
    assert verdict({}) == Allow()
