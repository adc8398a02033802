"""Grants: what a stored "always" covers (opencode.md 2.6, security.md 5)."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

from workflows.domain.ids import GrantId
from workflows.domain.permissions.overlap import covers as covers_pattern
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Decision, Rule, Ruleset, evaluate
from workflows.domain.permissions.wildcard import matches
from workflows.domain.value import Value

_LITERAL: Final = frozenset(
    {"read", "edit"}
)  # permissions whose subjects are paths: one of them can be saved by itself


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


def subjects(request: PermissionRequest) -> list[tuple[str, ...]]:
    """Each subject of a request with all its spellings; every one of them is judged."""
    spellings = [*request.spellings, *([()] * len(request.patterns))]
    return [(pattern, *more) for pattern, more in zip(request.patterns, spellings, strict=False)]


def asked_rules(request: PermissionRequest, rules: Ruleset) -> tuple[Rule, ...]:
    """The configured rules that made this request a question: what a grant remembers."""
    found = [evaluate(request.permission, form, rules) for forms in subjects(request) for form in forms]
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
    for form in (form for forms in subjects(request) for form in forms):
        decision = evaluate(request.permission, form, rules)
        grant = next((grant for grant in grants if silences(grant, form, decision)), None)
        if grant is not None:
            used.append(grant)
        elif decision.action is not Action.ALLOW:
            return None
    return used[0] if used else None


def covers(grant: Grant, request: PermissionRequest, rules: Ruleset) -> bool:
    """Whether this grant, with the rules, allows the whole request."""
    return covering(request, rules, (grant,)) is not None


def silences(grant: Grant, form: str, decision: Decision) -> bool:
    """Whether the grant turns the question about one form of a subject into an allow."""
    return decision.action is Action.ASK and any(
        matches(form, pattern) and _answers(grant, pattern, decision.rule) for pattern in grant.patterns
    )


def _answers(grant: Grant, pattern: str, rule: Rule | None) -> bool:
    return rule is None or (rule in grant.asked and not _narrower(rule.pattern, pattern))


def _narrower(pattern: str, than: str) -> bool:
    return covers_pattern(than, pattern) and not covers_pattern(pattern, than)


def _has_wildcard(pattern: str) -> bool:
    return any(character in pattern for character in "*?\\")
