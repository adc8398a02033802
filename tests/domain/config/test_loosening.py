from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.config.loosening import loosens
from workflows.domain.permissions.rules import Action, Rule, Ruleset, evaluate

GLOBS = st.text("ab*", min_size=1, max_size=3)
RULES = st.builds(Rule, permission=st.sampled_from(["*", "a", "b"]), pattern=GLOBS, action=st.sampled_from(Action))
ALLOW_ALL = Rule(permission="*", pattern="*", action=Action.ALLOW)


def rules(*lines: str) -> Ruleset:
    fields = (line.split(maxsplit=2) for line in ("allow * *", *lines))
    return tuple(Rule(action=Action(action), permission=name, pattern=pattern) for action, name, pattern in fields)


@given(st.lists(RULES, max_size=4), st.lists(RULES, max_size=4), st.sampled_from("ab"), st.text("ab", max_size=3))
def test_no_easier_request_is_missed(own: list[Rule], other: list[Rule], permission: str, subject: str) -> None:
    before, after = (ALLOW_ALL, *own), (ALLOW_ALL, *other)

    decided = (evaluate(permission, subject, before).action, evaluate(permission, subject, after).action)

    assert loosens(before, after) or decided[1].strictness >= decided[0].strictness


def test_the_same_rules_loosen_nothing() -> None:
    own = rules("ask read *.env", "allow read *.env.example", "deny bash rm *")

    assert not loosens(own, own)


def test_an_exception_from_a_new_rule_loosens_nothing() -> None:
    assert not loosens(rules(), rules("ask bash *", "allow bash git *"))


def test_an_exception_from_an_own_rule_loosens() -> None:
    assert loosens(rules("ask bash *"), rules("ask bash *", "allow bash git *"))


def test_a_lost_denial_loosens() -> None:
    assert loosens(rules("ask bash *", "deny bash rm *"), rules("ask bash *"))


def test_asking_where_nothing_is_offered_loosens_nothing() -> None:
    assert not loosens(rules("deny plan_exit *"), rules("deny plan_exit *", "ask * *"))
