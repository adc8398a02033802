"""Grants: what a stored "always" covers (opencode.md 2.6, security.md 5)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from workflows.domain.ids import GrantId
from workflows.domain.permissions.breadth import is_exact, names
from workflows.domain.permissions.overlap import covers as covers_pattern
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import (
    Action,
    Decision,
    Rule,
    Ruleset,
    denied_throughout,
    evaluate,
    nothing_to_protect,
)
from workflows.domain.permissions.wildcard import matches
from workflows.domain.value import Value

_LITERAL: Final = frozenset({"read", "edit"})  # permissions of paths: one of them can be saved by itself


class Scope(StrEnum):
    """How far a grant reaches."""

    SESSION = "session"
    PROJECT = "project"


class Grant(Value):
    """A stored "always": its patterns allow what would be asked, as far as the question was answered.

    `asked` are the configured ask rules that the person answered; it is empty when no rule had matched. The grant
    silences those rules only, and never one that is narrower than its own pattern.
    """

    id: GrantId
    permission: str
    patterns: tuple[str, ...]
    scope: Scope = Scope.SESSION
    author: str
    time: datetime
    asked: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Subject:
    """One subject of a request: its forms, each of which is judged, and the words that an allow has to name."""

    forms: tuple[str, ...]
    marks: tuple[str, ...]

    def swept_along(self, patterns: Collection[str]) -> bool:
        """Whether one of the words is said by none of the patterns; one that is the subject itself says them all."""
        if any(pattern == self.forms[0] and is_exact(pattern) for pattern in patterns):
            return False
        return any(not any(names(pattern, mark) for pattern in patterns) for mark in self.marks)


def subjects(request: PermissionRequest) -> list[Subject]:
    """The subjects of a request, each with all its spellings."""
    empty = [()] * len(request.patterns)
    told = zip(request.patterns, [*request.spellings, *empty], [*request.marks, *empty], strict=False)
    return [Subject((pattern, *spellings), marks) for pattern, spellings, marks in told]


def decisions(request: PermissionRequest, subject: Subject, rules: Ruleset) -> list[Decision]:
    """What rules say of each form of a subject; an allow that is too broad for it says nothing."""
    said = [evaluate(request.permission, form, rules) for form in subject.forms]
    allowing = [each.rule.pattern for each in said if each.rule is not None and each.action is Action.ALLOW]
    broad = (subject.swept_along(allowing) and not nothing_to_protect(rules)) or (
        request.changes and denied_throughout("edit", rules)
    )
    return [Decision(Action.ASK) if broad and each.action is Action.ALLOW else each for each in said]


def asked_rules(request: PermissionRequest, rules: Ruleset) -> tuple[Rule, ...]:
    """The configured rules that made this request a question: what a grant remembers."""
    found = [each for subject in subjects(request) for each in decisions(request, subject, rules)]
    return tuple(dict.fromkeys(each.rule for each in found if each.rule and each.action is Action.ASK))


def savable(request: PermissionRequest, rules: Ruleset) -> tuple[str, ...]:
    """The patterns that answering "always" saves; shown to the person before the choice.

    An entry that is wider than the rule that asked (`*` for a question raised by `*.env`) shrinks to the paths that
    were asked about.
    """
    if request.guarded:
        return ()
    asked = asked_rules(request, rules)
    entries = [entry for entry in request.always if entry not in request.withheld and entry not in ("/", "/*")]
    wide = [entry for entry in entries if any(_narrower(rule.pattern, entry) for rule in asked)]
    own = [pattern for pattern in request.patterns if request.permission in _LITERAL and not _has_wildcard(pattern)]
    return tuple(dict.fromkeys([entry for entry in entries if entry not in wide] + (own if wide else [])))


def covering(request: PermissionRequest, rules: Ruleset, grants: Iterable[Grant]) -> Grant | None:
    """The first grant that takes part in allowing this request, when the grants and rules together allow all of it."""
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


def covers(grant: Grant, request: PermissionRequest, rules: Ruleset) -> bool:
    """Whether this grant, with the rules, allows the whole request."""
    return covering(request, rules, (grant,)) is not None


def silences(grant: Grant, form: str, subject: Subject, decision: Decision) -> bool:
    """Whether the grant turns the question about one form of a subject into an allow."""
    return decision.action is Action.ASK and any(
        matches(form, pattern) and _answers(grant, pattern, decision.rule) and not subject.swept_along([pattern])
        for pattern in grant.patterns
    )


def _answers(grant: Grant, pattern: str, rule: Rule | None) -> bool:
    return rule is None or (rule in grant.asked and not _narrower(rule.pattern, pattern))


def _narrower(pattern: str, than: str) -> bool:
    return covers_pattern(than, pattern) and not covers_pattern(pattern, than)


def _has_wildcard(pattern: str) -> bool:
    return any(character in pattern for character in "*?\\")
