"""Reasons: why rules ask about a request, in words for the person who is asked."""

from collections.abc import Iterator

from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.breadth import names
from workflows.domain.permissions.grants import Subject, subjects
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import (
    Action,
    Decision,
    Ruleset,
    denied_throughout,
    evaluate,
    nothing_to_protect,
)


def reasons(request: PermissionRequest, rules: Ruleset) -> tuple[str, ...]:
    """Why a request is asked about under these rules, beside what is not understood of it (`opaque`), each once.

    Each completes a sentence that begins with "because". Wherever `finding` says ask there is one, or `opaque`.
    """
    return tuple(dict.fromkeys(_reasons(request, rules)))


def _reasons(request: PermissionRequest, rules: Ruleset) -> Iterator[str]:
    if request.permission == loop_guard.PERMISSION:
        yield "the same call was made again and again, which may be a loop"
    if request.guarded and request.opaque is None:
        yield f"{', '.join(request.patterns)} is protected, or not what its name says"
    if request.changes and denied_throughout("edit", rules):
        yield "it is not known to only read, and a rule denies edits"
    for subject in subjects(request):
        yield from _of_subject(request.permission, subject, rules)
    if not request.patterns:
        yield "nothing says what it is about"


def _of_subject(permission: str, subject: Subject, rules: Ruleset) -> Iterator[str]:
    decided = [evaluate(permission, form, rules) for form in subject.forms]
    yield from (_of_rule(permission, each) for each in decided if each.action is Action.ASK)
    allowing = [each.rule.pattern for each in decided if each.rule is not None and each.action is Action.ALLOW]
    if allowing and subject.swept_along(allowing) and not nothing_to_protect(rules):
        missing = [mark for mark in subject.marks if not any(names(pattern, mark) for pattern in allowing)]
        yield f"no rule that allows it names {', '.join(map(repr, missing))}"


def _of_rule(permission: str, decided: Decision) -> str:
    if decided.rule is None:
        return f"no rule decides about {permission} here"
    return f"the rule '{decided.rule.permission}: {decided.rule.pattern}' says ask"
