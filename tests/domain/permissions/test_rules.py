"""Rules: reading, merging, evaluating them."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest

from tests import cases
from workflows.domain.ids import GrantId
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.grants import Grant, GrantScope
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import (
    Action,
    Rule,
    Ruleset,
    ShadowedRules,
    evaluate,
    find_shadowed,
    from_config,
    is_switched_off,
    nothing_to_protect,
    only_denies,
    rules_about,
)

PERMISSION_OF = {  # tools of OpenCode that need another permission than their name (opencode.md 2.3)
    "write": "edit",
    "apply_patch": "edit",
    "list_mcp_resources": "read",
    "list_mcp_resource_templates": "read",
    "read_mcp_resource": "read",
}
ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY


@pytest.mark.parametrize("case", cases.load("permission_rules"))
def test_rules_work_as_opencodes_do(case: cases.Case) -> None:
    if case.holdfast is not None:
        assert case.holdfast.endswith(_of_approvals(case.input))
    else:
        assert _answer(case.input) == case.expected


def test_rules_that_a_later_one_covers_with_another_action_are_named() -> None:
    deny, allow, ask = _rule("git push *", DENY), _rule("git *", ALLOW), _rule("*", ASK)

    assert find_shadowed((deny, allow)) == (ShadowedRules((deny,), allow),)
    assert find_shadowed((deny, allow, ask)) == (ShadowedRules((deny, allow), ask),)
    assert find_shadowed((ask, allow, deny)) == ()
    assert find_shadowed((deny, _rule("git *", DENY))) == ()
    assert find_shadowed((deny, allow, _rule("git p*", DENY))) == ()  # it is denied all the same


@pytest.mark.parametrize("name", ["write", "patch", "multiedit", "apply_patch"])
def test_the_names_of_tools_that_edit_are_the_permission_edit_in_the_written_order(name: str) -> None:
    rules = from_config({"edit": DENY, name: {"docs/*": ALLOW}, "*": ASK}, "/home/u")

    assert [(rule.permission, rule.pattern) for rule in rules] == [("edit", "*"), ("edit", "docs/*"), ("*", "*")]


def test_nothing_is_protected_only_while_commands_are_allowed_and_files_not_denied() -> None:
    everything = Rule(permission="*", pattern="*", action=ALLOW)
    assert nothing_to_protect((everything,))
    assert not nothing_to_protect((everything, _rule("rm *", ASK)))
    assert not nothing_to_protect((everything, Rule(permission="read", pattern="*.pem", action=DENY)))
    assert nothing_to_protect((everything, Rule(permission="question", pattern="*", action=DENY)))


def test_the_denies_of_a_parent_hold_for_others_with_their_exceptions() -> None:
    parent = (
        Rule(permission="edit", pattern="*", action=DENY),
        Rule(permission="edit", pattern="plans/*.md", action=ALLOW),
        Rule(permission="bash", pattern="*", action=ALLOW),
        Rule(permission="edit", pattern="plans/old*", action=DENY),
    )
    child = (Rule(permission="*", pattern="*", action=ALLOW), *only_denies(parent))
    assert evaluate("edit", "src/a.py", child).action is DENY
    assert evaluate("edit", "plans/a.md", child).action is ALLOW
    assert evaluate("edit", "plans/old.md", child).action is DENY
    assert evaluate("bash", "rm x", child).action is ALLOW


def test_denies_with_exceptions_hold_over_generations_and_offer_the_tool() -> None:
    parent = (
        Rule(permission="edit", pattern="*", action=DENY),
        Rule(permission="edit", pattern="PLANS/*", action=ASK),
    )
    child = (Rule(permission="*", pattern="*", action=ALLOW), *only_denies(parent))
    grandchild = (Rule(permission="*", pattern="*", action=ALLOW), *only_denies(child))
    assert [evaluate("edit", path, grandchild).action for path in ("a.py", "PLANS/a")] == [DENY, ALLOW]
    assert not is_switched_off("edit", grandchild)
    assert is_switched_off("edit", (*grandchild, *only_denies(parent[:1])))


def test_one_word_as_configuration_is_a_rule_for_everything() -> None:
    assert from_config(ASK, "/home/u") == (Rule(permission="*", pattern="*", action=ASK),)


def test_the_rules_about_a_permission_are_those_whose_glob_matches() -> None:
    rules = (_rule("ls", ALLOW), Rule(permission="git*", pattern="*", action=DENY))
    assert rules_about("bash", rules) == rules[:1]


def _answer(given: dict[str, Any]) -> Any:
    match given:
        case {"op": "from_config", "config_entries": entries, "home": home}:
            config: dict[str, Any] = {key: value if isinstance(value, str) else dict(value) for key, value in entries}
            return _dumped(from_config(config, home))
        case {"op": "merge", "rulesets": rulesets}:
            return _dumped(_joined(rulesets))
        case {"op": "evaluate", "permission": permission, "pattern": pattern, "rulesets": rulesets}:
            rule = evaluate(permission, pattern, _joined(rulesets)).rule
            return rule and rule.model_dump(mode="json")
        case {"op": "disabled_tools", "tools": tools, "ruleset": ruleset}:
            rules = _ruleset(ruleset)
            return [tool for tool in tools if is_switched_off(PERMISSION_OF.get(tool, tool), rules)]
    raise ValueError(f"unknown operation {given['op']!r}")


def _joined(rulesets: list[Any]) -> Ruleset:
    return tuple(chain.from_iterable(map(_ruleset, rulesets)))


def _of_approvals(given: dict[str, Any]) -> str:
    """The action when the last ruleset of an `evaluate` case are grants, given under the first rule."""
    rules, approved = map(_ruleset, given["rulesets"])
    request = PermissionRequest(permission=given["permission"], patterns=(given["pattern"],))
    return evaluate_request(request, rules, [_grant(rule, rules) for rule in approved]).action


def _grant(rule: Rule, asked: Ruleset) -> Grant:
    return Grant(
        id=GrantId("gra_1"),
        permission=rule.permission,
        patterns=(rule.pattern,),
        scope=GrantScope.SESSION,
        author="ada",
        time="2026-01-01T00:00:00Z",
        asked=asked,
    )


def _ruleset(rules: Iterable[dict[str, str]]) -> Ruleset:
    return tuple(Rule.model_validate(rule) for rule in rules)


def _dumped(rules: Ruleset) -> list[dict[str, str]]:
    return [rule.model_dump(mode="json") for rule in rules]


def _rule(pattern: str, action: Action) -> Rule:
    return Rule(permission="bash", pattern=pattern, action=action)
