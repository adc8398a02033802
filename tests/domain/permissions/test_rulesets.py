"""Several sets of rules: the strictest finding counts, in every respect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.permissions import findings, rules
from workflows.domain.permissions.findings import RuleSource
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Rule, Ruleset, from_config
from workflows.domain.permissions.rulesets import Rulesets

WORDS = ("git push origin", "git log", "find . -delete", "rm x", "RM x")
NAMES = st.sampled_from(["*", "bash", "read", "edit"])
PATTERNS = st.sampled_from(["*", "git *", "git push *", "git push*", "find *", "find * -delete*", "rm *", "*.env"])
RULES = st.builds(Rule, permission=NAMES, pattern=PATTERNS, action=st.sampled_from(Action))
RULESETS = st.lists(RULES, max_size=6).map(tuple)
REQUESTS = st.one_of(
    st.builds(
        PermissionRequest,
        permission=st.just("bash"),
        patterns=st.sampled_from(WORDS).map(lambda each: (each,)),
        required_words=st.sampled_from([(), (("push",),), (("-delete",),)]),
        changes=st.booleans(),
        opaque=st.sampled_from([None, "it is made at run time"]),
    ),
    st.builds(
        PermissionRequest,
        permission=st.sampled_from(["read", "edit"]),
        patterns=st.sampled_from([(".env",), (".ENV",), ("a.py",)]),
    ),
)


def ask_of(own: Ruleset, other: Ruleset, source: RuleSource = RuleSource.PROJECT) -> Rulesets:
    return Rulesets.of(own).with_set(other, source)


@given(RULESETS, RULESETS, REQUESTS)
def test_no_other_rules_make_a_finding_looser(own: Ruleset, other: Ruleset, request: PermissionRequest) -> None:
    alone = [findings.evaluate_request(request, each).action for each in (own, other)]

    found = ask_of(own, other).finding(request)

    assert found.action is max(alone, key=lambda each: each.strictness)
    assert found.source is RuleSource.OWN or own != other


@given(RULESETS, RULESETS, st.sampled_from(["bash", "read", "edit"]))
def test_no_deny_is_lifted_by_a_yes(own: Ruleset, other: Ruleset, permission: str) -> None:
    both = ask_of(own, other)
    requests = [PermissionRequest(permission=permission, patterns=(each,)) for each in ("a.env", "git push origin")]
    opened = both.opened(requests)
    for subject in ("a.env", "git push origin", "b.env"):
        before, after = both.action(permission, subject), opened.action(permission, subject)
        assert permission == "bash" or (before is Action.DENY) is (after is Action.DENY)


def test_a_yes_opens_what_it_was_asked_about_and_nothing_else() -> None:
    rules = from_config({"*": Action.ALLOW, "edit": Action.ASK, "external_directory": Action.ASK}, "/home/u")
    requests = [
        PermissionRequest(permission="bash", patterns=("make",)),
        PermissionRequest(permission="edit", patterns=("build",)),
        PermissionRequest(permission="external_directory", patterns=("/etc/*",)),
        PermissionRequest(permission="read", patterns=("a.txt",)),  # rules allow it: it changes no effect
    ]
    opened = Rulesets.of(rules).opened(requests)
    assert opened == Rulesets.of(rules).opened(requests[:3])
    assert {each.permission for each in opened.flat} == {"*", "edit", "external_directory"}
    assert [opened.action("edit", each) for each in ("build", "*")] == [Action.ALLOW, Action.ASK]
    assert [opened.action("external_directory", each) for each in ("/etc/*", "*")] == [Action.ALLOW, Action.ASK]


@given(RULESETS, RULESETS, st.sampled_from(["bash", "read", "edit"]))
def test_a_tool_is_hidden_if_either_hides_it(own: Ruleset, other: Ruleset, permission: str) -> None:
    both = ask_of(own, other)

    assert both.hides(permission) is any(rules.is_switched_off(permission, each) for each in (own, other))
    assert both.denies_by_default(permission) is any(
        rules.is_denied_by_default(permission, each) for each in (own, other)
    )


def bash(**patterns: str) -> Ruleset:
    return from_config({"*": Action.ALLOW, "bash": {key: Action(value) for key, value in patterns.items()}}, "/home/u")


PUSH = PermissionRequest(
    permission="bash", patterns=("git push --force",), always=("git push *",), required_words=(("push",),)
)
OWN = bash(**{"*": "ask", "git *": "allow"})
NAMED = bash(**{"*": "ask", "git *": "allow", "git push*": "allow"})


@pytest.mark.parametrize("source", [RuleSource.PROJECT, RuleSource.ADMINISTRATOR])
def test_a_narrower_allow_of_another_does_not_silence_the_question_of_a_wide_one(source: RuleSource) -> None:
    strict, loose = (OWN, NAMED) if source is RuleSource.PROJECT else (NAMED, OWN)

    assert ask_of(strict, loose, source).finding(PUSH).action is Action.ASK


def test_a_question_says_whose_rule_asks_and_that_the_projects_allow_waits() -> None:
    theirs = bash(**{"git *": "ask"})
    request = PermissionRequest(permission="bash", patterns=("git log",))

    assert ask_of(bash(), theirs).reasons(request) == ("the project's rule 'bash: git *' says ask",)
    assert ask_of(OWN, bash(**{"git *": "ask"}), RuleSource.ADMINISTRATOR).reasons(request) == (
        "the administrator's rule 'bash: git *' says ask",
    )
    own, project = ask_of(bash(**{"*": "ask"}), bash()).reasons(request)
    assert own == "the rule 'bash: *' says ask" and "`holdfast trust`" in project


def test_one_answer_covers_the_questions_of_all() -> None:
    """Also where the rules of each are narrower than what the other would save."""
    own, project = from_config({"read": {"*.env": Action.ASK}}, "/h"), from_config({"read": {"a*": Action.ASK}}, "/h")
    request = PermissionRequest(permission="read", patterns=("a.env",), always=("*",))
    both = ask_of(own, project)

    assert [each.pattern for each in both.asked_rules(request)] == ["*.env", "a*"]
    assert both.savable_patterns(request) == ("a.env",)


def test_what_a_run_asks_about_is_asked_though_rules_allow_it_and_denied_as_before() -> None:
    own = from_config({"*": Action.ALLOW, "edit": {"a": Action.DENY}}, "/home/u")
    asking = Rulesets.of(own).asking(("edit", "bash"))

    found = [asking.action(*each) for each in (("edit", "a"), ("edit", "b"), ("bash", "ls"), ("read", "x"))]

    assert found == [Action.DENY, Action.ASK, Action.ASK, Action.ALLOW]
    assert Rulesets.of(own).asking(()) == Rulesets.of(own)


@given(RULESETS, RULESETS, st.sampled_from(["bash", "read"]), st.sampled_from(WORDS))
def test_a_subagent_is_denied_what_any_of_its_parents_rules_deny(
    own: Ruleset, other: Ruleset, permission: str, subject: str
) -> None:
    parent = ask_of(own, other)
    allowing = (Rule(permission="*", pattern="*", action=Action.ALLOW), *parent.denials())

    denied = parent.action(permission, subject) is Action.DENY

    assert (rules.evaluate(permission, subject, allowing).action is Action.DENY) is denied
