"""A ceiling: rules above all others, which nothing makes easier and which make nothing easier."""

from workflows.domain.permissions.rules import Action, Ruleset, denies, exactly


def under(ceiling: Ruleset, rules: Ruleset) -> Ruleset:
    """`rules` with the ceiling behind them: of each subject the stricter of both decides."""
    if not ceiling:
        return rules
    return (*rules, *exactly(Action.ASK, ceiling), *denies(rules), *denies(ceiling))
