from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.permissions.rules import (
    Action,
    Rule,
    Ruleset,
    apply_ceiling,
    evaluate,
    from_config,
    is_switched_off,
)

NAMES = st.sampled_from(["*", "bash", "read", "edit"])
PATTERNS = st.sampled_from(["*", "git *", "git push *", "a", "a*"])
RULES = st.builds(Rule, permission=NAMES, pattern=PATTERNS, action=st.sampled_from(Action))
RULESETS = st.lists(RULES, max_size=5).map(tuple)
SUBJECTS = st.tuples(st.sampled_from(["bash", "read", "edit"]), st.sampled_from(["git push x", "git log", "a", "ab"]))


@given(RULESETS, RULESETS, SUBJECTS)
def test_of_both_the_stricter_decides(ceiling: Ruleset, rules: Ruleset, subject: tuple[str, str]) -> None:
    said = evaluate(*subject, ceiling)
    above = said.action if said.rule is not None else Action.ALLOW
    own = evaluate(*subject, rules)
    expected = max(own.action, above, key=lambda action: action.strictness)

    assert evaluate(*subject, apply_ceiling(ceiling, rules)).action is expected


def test_no_ceiling_changes_nothing() -> None:
    rules = from_config(Action.ALLOW, "/home")

    assert apply_ceiling((), rules) == rules


def test_a_tool_that_the_ceiling_denies_is_not_offered_though_a_later_rule_allows_everything() -> None:
    own = from_config({"bash": Action.DENY, "*": Action.ALLOW}, "/home")
    ceiling = from_config({"bash": Action.DENY}, "/home")

    rules = apply_ceiling(ceiling, own)
    assert [is_switched_off(permission, rules) for permission in ("bash", "read")] == [True, False]
