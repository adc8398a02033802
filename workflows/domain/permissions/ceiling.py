"""A ceiling: rules above all others; none loosens the other."""

from workflows.domain.permissions.rules import Action, Ruleset, only_action, only_denies


def apply_ceiling(ceiling: Ruleset, rules: Ruleset) -> Ruleset:
    """`rules` with the ceiling behind them: the stricter of both decides."""
    if not ceiling:
        return rules
    return (*rules, *only_action(Action.ASK, ceiling), *only_denies(rules), *only_denies(ceiling))
