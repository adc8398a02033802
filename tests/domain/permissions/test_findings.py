"""What rules and grants say of one request."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.ids import GrantId
from workflows.domain.permissions.findings import Finding, evaluate_request
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Rule

ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY
ALL = Rule(permission="*", pattern="*", action=ALLOW)


def test_a_finding_names_the_rule_and_is_written_without_what_is_empty() -> None:
    found = evaluate_request(_bash("rm x"), (ALL, _rule("rm *", DENY)))
    assert found == Finding(permission="bash", action=DENY, rule=1)
    assert found.model_dump_json() == '{"permission":"bash","action":"deny","rule":1}'
    assert Finding.model_validate_json(found.model_dump_json()) == found


def test_without_a_rule_the_answer_is_ask() -> None:
    assert evaluate_request(_bash("ls"), ()) == Finding(permission="bash", action=ASK)


def test_the_stricter_spelling_counts() -> None:
    request = PermissionRequest(permission="bash", patterns=("r''m x",), spellings=(("rm x",),))
    assert evaluate_request(request, (ALL, _rule("rm *", DENY))).action is DENY


def test_a_grant_that_covers_is_named() -> None:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    rule = _rule("*", ASK)
    grant = Grant(id=GrantId("gra_1"), permission="bash", patterns=("ls *",), author="ada", time=time, asked=(rule,))
    assert evaluate_request(_bash("ls -l"), (rule,), [grant]) == Finding(
        permission="bash", action=ALLOW, rule=0, grant=GrantId("gra_1")
    )


def test_what_is_not_understood_asks_once_there_is_something_to_protect() -> None:
    request = _bash("export A=1").model_copy(update={"opaque": "it changes the shell"})
    assert evaluate_request(request, (ALL,)).action is ALLOW
    assert evaluate_request(request, (ALL, Rule(permission="read", pattern="*.env", action=DENY))).action is ASK


def test_a_broad_allow_does_not_cover_what_it_does_not_name() -> None:
    clean = _bash("git clean -fd").model_copy(update={"required_words": (("clean",),)})
    broad = (_rule("*", ASK), _rule("git *", ALLOW))
    assert evaluate_request(clean, broad) == Finding(permission="bash", action=ASK)
    assert evaluate_request(clean, (*broad, _rule("git clean *", ALLOW))).action is ALLOW
    assert evaluate_request(clean, (ALL,)).action is ALLOW


def test_a_form_of_the_command_may_be_the_one_that_is_named() -> None:
    request = PermissionRequest(
        permission="bash",
        patterns=("timeout 5 find . -delete",),
        spellings=(("find . -delete",),),
        required_words=(("-delete",),),
    )
    rules = (_rule("*", ASK), _rule("timeout *", ALLOW), _rule("find *", ALLOW))
    assert evaluate_request(request, rules).action is ASK
    assert evaluate_request(request, (*rules, _rule("find * -delete", ALLOW))).action is ALLOW


def test_an_exact_rule_for_another_form_names_nothing() -> None:
    request = PermissionRequest(
        permission="bash", patterns=("git -C x status",), spellings=(("git status",),), required_words=(("-C",),)
    )
    rules = (_rule("*", ASK), _rule("git *", ALLOW), _rule("git status", ALLOW))
    assert evaluate_request(request, rules).action is ASK
    assert evaluate_request(request, (*rules, _rule("git -C x status", ALLOW))).action is ALLOW


def test_where_no_edit_is_allowed_a_command_that_may_change_something_asks() -> None:
    make = _bash("make").model_copy(update={"changes": True})
    plan = (
        ALL,
        Rule(permission="edit", pattern="*", action=DENY),
        Rule(permission="edit", pattern="p/*", action=ALLOW),
    )
    assert (evaluate_request(make, plan).action, evaluate_request(_bash("ls"), plan).action) == (ASK, ALLOW)
    assert evaluate_request(make, (ALL, Rule(permission="edit", pattern="p/*", action=DENY))).action is ALLOW


def test_a_protected_path_asks_although_a_rule_allows() -> None:
    request = PermissionRequest(permission="edit", patterns=(".git/config",), guarded=True)
    assert evaluate_request(request, (ALL,)).action is ASK


@pytest.mark.parametrize("name", [".ENV", "Prod.Env", ".env"])
def test_a_denied_path_is_denied_in_any_case_of_its_letters(name: str) -> None:
    rules = (ALL, Rule(permission="read", pattern="*.env", action=DENY))
    assert evaluate_request(PermissionRequest(permission="read", patterns=(name,)), rules).action is DENY


@given(st.lists(st.sampled_from(["ls", "rm x", "git push", "pwd"]), min_size=1), st.sampled_from(["ls", "rm x"]))
def test_one_more_subject_never_lowers_the_action(patterns: list[str], more: str) -> None:
    rules = (_rule("*", ASK), _rule("ls", ALLOW), _rule("rm *", DENY))
    before = evaluate_request(_bash(*patterns), rules).action
    assert evaluate_request(_bash(*patterns, more), rules).action.strictness >= before.strictness


def _bash(*patterns: str) -> PermissionRequest:
    return PermissionRequest(permission="bash", patterns=patterns)


def _rule(pattern: str, action: Action) -> Rule:
    return Rule(permission="bash", pattern=pattern, action=action)
