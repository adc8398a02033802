"""Grants: what a stored "always" covers (opencode.md 2.6, security.md 5)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from workflows.domain.ids import GrantId
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.overlap import covers as covers_pattern
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
from workflows.domain.permissions.specificity import contains_word, is_exact
from workflows.domain.permissions.wildcard import matches
from workflows.domain.value import Value

_PATH_PERMISSIONS: Final = frozenset(
    {permission_keys.READ, permission_keys.EDIT}
)  # subjects are paths: one of them can be saved by itself


class GrantScope(StrEnum):
    """How far a grant reaches."""

    SESSION = "session"
    PROJECT = "project"


class Grant(Value):
    """A stored "always". `asked`: the configured ask rules that the person answered, empty if none matched. The grant
    silences only those, and none narrower than its own pattern."""

    id: GrantId
    permission: str
    patterns: tuple[str, ...]
    scope: GrantScope = GrantScope.SESSION
    author: str
    time: datetime
    asked: tuple[Rule, ...] = ()


class SavableRule(Value):
    """What "always" saves of one request."""

    permission: str
    patterns: tuple[str, ...]


@dataclass(frozen=True)
class RequestSubject:
    """One subject of a request: all its forms are evaluated; an allow must name the required words."""

    forms: tuple[str, ...]
    required_words: tuple[str, ...]

    def has_unnamed_word(self, patterns: Collection[str]) -> bool:
        """Whether no pattern names one of the words; an exact pattern of the subject names them all."""
        if any(pattern == self.forms[0] and is_exact(pattern) for pattern in patterns):
            return False
        return any(not any(contains_word(pattern, mark) for pattern in patterns) for mark in self.required_words)


def subjects(request: PermissionRequest) -> list[RequestSubject]:
    empty = [()] * len(request.patterns)
    zipped = zip(request.patterns, [*request.spellings, *empty], [*request.required_words, *empty], strict=False)
    return [RequestSubject((pattern, *spellings), required_words) for pattern, spellings, required_words in zipped]


def decisions(request: PermissionRequest, subject: RequestSubject, rules: Ruleset) -> list[Decision]:
    """The rules' decision on each form of a subject, without allows that are too broad for it."""
    evaluated = [evaluate(request.permission, form, rules) for form in subject.forms]
    allowing = [each.rule.pattern for each in evaluated if each.rule is not None and each.action is Action.ALLOW]
    broad = (subject.has_unnamed_word(allowing) and not nothing_to_protect(rules)) or (
        request.changes and is_denied_by_default(permission_keys.EDIT, rules)
    )
    return [Decision(Action.ASK) if broad and each.action is Action.ALLOW else each for each in evaluated]


def asked_rules(request: PermissionRequest, rules: Ruleset) -> tuple[Rule, ...]:
    """The configured rules that made this request a question."""
    found = [each for subject in subjects(request) for each in decisions(request, subject, rules)]
    return tuple(dict.fromkeys(each.rule for each in found if each.rule and each.action is Action.ASK))


def savable_patterns(request: PermissionRequest, asked: Collection[Rule]) -> tuple[str, ...]:
    """What "always" saves. An entry wider than a rule that `asked` (`*` for a question raised by `*.env`) shrinks to
    the paths of the question."""
    if request.guarded:
        return ()
    entries = [entry for entry in request.always if entry not in request.withheld and entry not in ("/", "/*")]
    wide = [entry for entry in entries if any(_narrower(rule.pattern, entry) for rule in asked)]
    own = [
        pattern
        for pattern in request.patterns
        if request.permission in _PATH_PERMISSIONS and not _has_wildcard(pattern)
    ]
    return tuple(dict.fromkeys([entry for entry in entries if entry not in wide] + (own if wide else [])))


def covering_grant(request: PermissionRequest, rules: Ruleset, grants: Iterable[Grant]) -> Grant | None:
    """The first grant that helps to allow this request, when grants and rules allow all of it."""
    if request.opaque is not None or request.guarded:
        return None
    grants = [grant for grant in grants if grant.permission == request.permission]
    used: list[Grant] = []
    for subject in subjects(request):
        for form, decision in zip(subject.forms, decisions(request, subject, rules), strict=True):
            grant = next((grant for grant in grants if silences(grant, form, subject, decision)), None)
            if grant is not None:
                used.append(grant)
            elif decision.action is not Action.ALLOW:
                return None
    return used[0] if used else None


def silences(grant: Grant, form: str, subject: RequestSubject, decision: Decision) -> bool:
    """Whether the grant turns the question about one form of a subject into an allow."""
    return decision.action is Action.ASK and any(
        matches(form, pattern)
        and _silences_rule(grant, pattern, decision.rule)
        and not subject.has_unnamed_word([pattern])
        for pattern in grant.patterns
    )


def _silences_rule(grant: Grant, pattern: str, rule: Rule | None) -> bool:
    return rule is None or (rule in grant.asked and not _narrower(rule.pattern, pattern))


def _narrower(pattern: str, than: str) -> bool:
    return covers_pattern(than, pattern) and not covers_pattern(pattern, than)


def _has_wildcard(pattern: str) -> bool:
    return any(character in pattern for character in "*?\\")
