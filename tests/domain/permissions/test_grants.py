"""What a stored "always" covers, and what it may hold."""

from datetime import UTC, datetime

import pytest

from workflows.domain.ids import GrantId
from workflows.domain.permissions.grants import Grant, asked_rules, covering_grant
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Rule, Ruleset
from workflows.domain.permissions.rulesets import Rulesets

EVERYTHING = Rule(permission="bash", pattern="*", action=Action.ASK)
PUSH = Rule(permission="bash", pattern="git push *", action=Action.ASK)


def covers(grant: Grant, request: PermissionRequest, rules: Ruleset) -> bool:
    return covering_grant(request, rules, (grant,)) is not None


def test_a_grant_answers_the_rule_it_was_given_under() -> None:
    assert covers(_grant("git *"), _bash("git status"), (EVERYTHING,))


def test_a_grant_does_not_answer_a_narrower_rule() -> None:
    assert not covers(_grant("git *"), _bash("git push origin"), (EVERYTHING, PUSH))
    assert not covers(_grant("git *", asked=(EVERYTHING, PUSH)), _bash("git push origin"), (EVERYTHING, PUSH))


def test_a_grant_for_exactly_the_narrower_rule_answers_it() -> None:
    assert covers(_grant("git push *", asked=(PUSH,)), _bash("git push origin"), (EVERYTHING, PUSH))


def test_a_grant_does_not_answer_a_rule_that_was_never_asked_about() -> None:
    assert not covers(_grant("git *", asked=()), _bash("git status"), (EVERYTHING,))
    assert covers(_grant("git *", asked=()), _bash("git status"), ())


def test_a_grant_never_opens_a_deny() -> None:
    deny = Rule(permission="bash", pattern="git push *", action=Action.DENY)
    assert not covers(_grant("git *"), _bash("git push"), (EVERYTHING, deny))


def test_every_subject_and_every_spelling_has_to_be_covered() -> None:
    request = PermissionRequest(permission="bash", patterns=("ls", '"rm" x'), spellings=((), ("rm x",)))
    assert not covers(_grant("ls *"), request, (EVERYTHING,))
    assert not covers(_grant("ls *", "rm *"), request, (EVERYTHING,))
    assert covers(_grant("ls *", '"rm" *', "rm *"), request, (EVERYTHING,))


def test_what_rules_allow_anyway_needs_no_grant_beside_it() -> None:
    rules = (EVERYTHING, Rule(permission="bash", pattern="pwd", action=Action.ALLOW))
    assert covers(_grant("ls *"), _bash("pwd", "ls -l"), rules)
    assert not covers(_grant("ls *"), _bash("pwd"), rules)


@pytest.mark.parametrize("unclear", [{"opaque": "it is not understood"}, {"guarded": True}])
def test_what_is_opaque_or_protected_is_covered_by_nothing(unclear: dict[str, object]) -> None:
    request = _bash("git status").model_copy(update=unclear)
    assert not covers(_grant("*"), request, (EVERYTHING,))


def test_a_grant_covers_only_what_it_names() -> None:
    clean = _bash("git clean -fd").model_copy(update={"required_words": (("clean",),)})
    broad = Rule(permission="bash", pattern="git *", action=Action.ALLOW)
    weird = _bash("ls --weird").model_copy(update={"required_words": (("--weird",),)})
    assert covers(_grant("git clean *"), clean, (EVERYTHING,))
    assert covers(_grant("git clean *", asked=()), clean, (EVERYTHING, broad))
    assert not covers(_grant("ls *"), weird, (EVERYTHING,))
    assert covers(_grant("ls --weird"), weird, (EVERYTHING,))


def test_a_grant_is_for_its_own_permission() -> None:
    assert not covers(_grant("*"), PermissionRequest(permission="github_list", patterns=("*",)), ())


def test_a_request_raised_by_a_narrow_rule_saves_the_file_it_named() -> None:
    rules = (_read("*", Action.ALLOW), _read("*.env", Action.ASK))
    request = PermissionRequest(permission="read", patterns=("sub/.env",), always=("*",))
    assert Rulesets.of(rules).savable_patterns(request) == ("sub/.env",)


def test_a_name_that_holds_a_wildcard_is_not_saved_as_one() -> None:
    rules = (_read("*", Action.ALLOW), _read("*.env", Action.ASK))
    request = PermissionRequest(permission="read", patterns=("*/.env",), always=("*",))
    assert Rulesets.of(rules).savable_patterns(request) == ()


def test_withheld_patterns_and_protected_paths_are_not_saved() -> None:
    outside = PermissionRequest(
        permission="external_directory", patterns=("/a/*", "/home/u/*"), always=("/a/*", "/home/u/*", "/*")
    )
    assert Rulesets.of(()).savable_patterns(outside.model_copy(update={"withheld": ("/home/u/*",)})) == ("/a/*",)
    assert Rulesets.of(()).savable_patterns(outside.model_copy(update={"guarded": True})) == ()


def test_the_rules_that_asked_are_remembered_once() -> None:
    assert asked_rules(_bash("git push", "git push x", "ls"), (EVERYTHING, PUSH)) == (PUSH, EVERYTHING)


def _grant(*patterns: str, asked: Ruleset = (EVERYTHING,)) -> Grant:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    return Grant(id=GrantId("gra_1"), permission="bash", patterns=patterns, author="ada", time=time, asked=asked)


def _bash(*patterns: str) -> PermissionRequest:
    return PermissionRequest(permission="bash", patterns=patterns)


def _read(pattern: str, action: Action) -> Rule:
    return Rule(permission="read", pattern=pattern, action=action)
