"""The rules that hold before anybody has configured anything (opencode.md 1.1)."""

from collections.abc import Iterable
from pathlib import Path

from workflows.domain.permissions.rules import Action, Rule, Ruleset

ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY


def defaults(*, data: Path, temporary: Path, directories: Iterable[Path] = ()) -> Ruleset:
    """The built-in rules of every agent; `directories` are those of skills and references."""
    opened = (data / "tool-output", temporary / "opencode", *directories)
    return (
        _rule("*", "*", ALLOW),
        _rule("doom_loop", "*", ASK),
        _rule("external_directory", "*", ASK),
        *(_rule("external_directory", f"{directory}/*", ALLOW) for directory in opened),
        *(_rule(name, "*", DENY) for name in ("question", "plan_enter", "plan_exit")),
        _rule("read", "*", ALLOW),
        _rule("read", "*.env", ASK),
        _rule("read", "*.env.*", ASK),
        _rule("read", "*.env.example", ALLOW),
    )


def build(own: Iterable[Rule], *, data: Path, temporary: Path, directories: Iterable[Path] = ()) -> Ruleset:
    """The rules of the agent `build`: built-in, then `own` (the user's, then the agent's), then the spools."""
    own = tuple(own)
    rules = (
        *defaults(data=data, temporary=temporary, directories=directories),
        _rule("question", "*", ALLOW),
        _rule("plan_enter", "*", ALLOW),
        *own,
    )
    spools = _rule("external_directory", f"{data / 'tool-output'}/*", ALLOW)
    denied = any(rule.pattern == spools.pattern and rule.action is DENY for rule in own)
    return rules if denied else (*rules, spools)


def _rule(permission: str, pattern: str, action: Action) -> Rule:
    return Rule(permission=permission, pattern=pattern, action=action)
