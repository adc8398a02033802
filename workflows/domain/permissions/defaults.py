"""The rules that hold before anybody has configured anything (opencode.md 1.1)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from workflows.domain.permissions.rules import Action, Rule, Ruleset

ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY
_LOOKING: Final = ("grep", "glob", "list", "bash", "webfetch", "websearch", "read")


def defaults(*, data: Path, temporary: Path, directories: Iterable[Path] = ()) -> Ruleset:
    """The built-in rules of every agent; `directories` are those of skills and references."""
    return (
        _rule("*", "*", ALLOW),
        _rule("doom_loop", "*", ASK),
        *_outside(data, temporary, directories),
        *(_rule(name, "*", DENY) for name in ("question", "plan_enter", "plan_exit")),
        _rule("read", "*", ALLOW),
        *_environment_files(),
    )


def agent(name: str, own: Iterable[Rule], *, data: Path, temporary: Path, directories: Iterable[Path] = ()) -> Ruleset:
    """The rules of an agent: built-in, then `own` (the user's, then the agent's), then the spools."""
    own, directories = tuple(own), tuple(directories)
    rules = (
        *defaults(data=data, temporary=temporary, directories=directories),
        *_built_in(name, _outside(data, temporary, directories)),
        *own,
    )
    spools = _rule("external_directory", f"{data / 'tool-output'}/*", ALLOW)
    denied = any(rule.pattern == spools.pattern and rule.action is DENY for rule in own)
    return rules if denied else (*rules, spools)


def _built_in(name: str, outside: Ruleset) -> Ruleset:
    """What a built-in agent has of its own; one that is configured has nothing."""
    match name:
        case "build":
            return (_rule("question", "*", ALLOW), _rule("plan_enter", "*", ALLOW))
        case "general":
            return (_rule("todowrite", "*", DENY),)
        case "explore":  # files of secrets are asked about all the same: its own allow of `read` would open them
            looking = (_rule(permission, "*", ALLOW) for permission in _LOOKING)
            return (_rule("*", "*", DENY), *looking, *outside, *_environment_files())
    return ()


def _outside(data: Path, temporary: Path, directories: Iterable[Path]) -> Ruleset:
    opened = (data / "tool-output", temporary / "opencode", *directories)
    allowed = (_rule("external_directory", f"{directory}/*", ALLOW) for directory in opened)
    return (_rule("external_directory", "*", ASK), *allowed)


def _environment_files() -> Ruleset:
    return (_rule("read", "*.env", ASK), _rule("read", "*.env.*", ASK), _rule("read", "*.env.example", ALLOW))


def _rule(permission: str, pattern: str, action: Action) -> Rule:
    return Rule(permission=permission, pattern=pattern, action=action)
