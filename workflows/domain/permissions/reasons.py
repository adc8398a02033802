"""Why rules ask about a request, in words to show to a person."""

from collections.abc import Callable, Iterator
from typing import Final

from workflows.domain.permissions import loop_guard, permission_keys
from workflows.domain.permissions.grants import RequestSubject, subjects
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import (
    Action,
    Decision,
    Rule,
    Ruleset,
    evaluate,
    is_denied_by_default,
    nothing_to_protect,
)
from workflows.domain.permissions.specificity import contains_word

_UNCHECKED: Final = "it cannot be checked, whatever rules allow"


def without_rule(request: PermissionRequest) -> tuple[str, ...]:
    """Why it is asked about where no rule says so."""
    return (_UNCHECKED,) if request.opaque is not None else ()


def reasons(request: PermissionRequest, rules: Ruleset, owner: Callable[[Rule], str]) -> Iterator[str]:
    """Why rules ask about a request; completes "because …". `owner`: the words before a rule that say whose it is."""
    if request.permission == loop_guard.PERMISSION:
        yield "the same call was made again and again, which may be a loop"
    if request.guarded and request.opaque is None:
        yield f"{', '.join(request.patterns)} is protected, or not what its name says"
    if request.changes and is_denied_by_default(permission_keys.EDIT, rules):
        yield "it may change something, and a rule denies edits"
    for subject in subjects(request):
        yield from _subject_reasons(request.permission, subject, rules, owner)
    if not request.patterns:
        yield "its subject is unknown"


def _subject_reasons(
    permission: str, subject: RequestSubject, rules: Ruleset, owner: Callable[[Rule], str]
) -> Iterator[str]:
    decided = [evaluate(permission, form, rules) for form in subject.forms]
    yield from (_rule_reason(permission, each, owner) for each in decided if each.action is Action.ASK)
    allowing = [each.rule.pattern for each in decided if each.rule is not None and each.action is Action.ALLOW]
    if allowing and subject.has_unnamed_word(allowing) and not nothing_to_protect(rules):
        missing = [
            mark for mark in subject.required_words if not any(contains_word(pattern, mark) for pattern in allowing)
        ]
        yield f"no rule that allows it names {', '.join(map(repr, missing))}"


def _rule_reason(permission: str, decided: Decision, owner: Callable[[Rule], str]) -> str:
    if decided.rule is None:
        return f"no rule decides about {permission} here"
    return f"{owner(decided.rule)} rule '{decided.rule.permission}: {decided.rule.pattern}' says ask"
