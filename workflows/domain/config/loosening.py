"""Whether one ruleset is looser than another."""

from workflows.domain.permissions.overlap import covers, overlaps
from workflows.domain.permissions.permission_keys import NEVER_ASKED
from workflows.domain.permissions.rules import Action, Rule, Ruleset


def loosens(own: Ruleset, other: Ruleset, *, silently: bool = False) -> bool:
    """Whether `other` makes some request easier than `own`; `silently`: lets one pass unasked. Errs on the strict side:
    a region that only two later rules together cover counts as uncovered."""
    return any(
        not (silently and rule.action is Action.ASK)
        and _eases(rule, guard)
        and not any(_settles(later, rule, guard) for later in (*other[i:], *own[j:]))
        for i, rule in enumerate(other, start=1)
        for j, guard in enumerate(own, start=1)
    )


def _eases(rule: Rule, guard: Rule) -> bool:
    return (
        guard.action is not Action.ALLOW
        and rule.action not in (Action.DENY, guard.action)
        and guard.permission not in NEVER_ASKED
        and overlaps(rule.permission, guard.permission)
        and overlaps(rule.pattern, guard.pattern)
    )


def _settles(later: Rule, rule: Rule, guard: Rule) -> bool:
    """Whether `later` matches all that `rule` and `guard` both match: neither decides there."""
    return _covers_one(later.permission, rule.permission, guard.permission) and _covers_one(
        later.pattern, rule.pattern, guard.pattern
    )


def _covers_one(wide: str, one: str, other: str) -> bool:
    return covers(wide, one) or covers(wide, other)
