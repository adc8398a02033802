"""Whether one ruleset lets something pass more easily than another."""

from typing import Final

from workflows.domain.permissions.overlap import covers, meet
from workflows.domain.permissions.rules import Action, Rule, Ruleset

_OFFERS: Final = frozenset({"question", "plan_enter", "plan_exit"})  # never asked: they say which tools are offered


def loosens(own: Ruleset, other: Ruleset, *, silently: bool = False) -> bool:
    """Whether some request is easier under `other` than under `own`; `silently`: whether one passes unasked by that.

    Says so rather once too often than too rarely: a region that two later rules only cover together counts as
    uncovered.
    """
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
        and guard.permission not in _OFFERS
        and meet(rule.permission, guard.permission)
        and meet(rule.pattern, guard.pattern)
    )


def _settles(later: Rule, rule: Rule, guard: Rule) -> bool:
    """Whether `later` matches all that `rule` and `guard` both match, so that one of them is never the last."""
    return _covers_one(later.permission, rule.permission, guard.permission) and _covers_one(
        later.pattern, rule.pattern, guard.pattern
    )


def _covers_one(wide: str, one: str, other: str) -> bool:
    return covers(wide, one) or covers(wide, other)
