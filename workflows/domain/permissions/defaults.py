"""The rules of every agent before any configuration (opencode.md 1.1). `{data}` is Holdfast's data directory,
`{temporary}` the host's temporary directory."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from workflows.domain.permissions.rules import Action, Rule, Ruleset

EXTERNAL_DIRECTORY_RULES: Final[Ruleset] = (
    Rule(permission="external_directory", pattern="*", action=Action.ASK),
    Rule(permission="external_directory", pattern="{data}/tool-output/*", action=Action.ALLOW),
    Rule(permission="external_directory", pattern="{temporary}/opencode/*", action=Action.ALLOW),
)
ENVIRONMENT_FILE_RULES: Final[Ruleset] = (
    Rule(permission="read", pattern="*.env", action=Action.ASK),
    Rule(permission="read", pattern="*.env.*", action=Action.ASK),
    Rule(permission="read", pattern="*.env.example", action=Action.ALLOW),
)
DEFAULT_RULES: Final[Ruleset] = (
    Rule(permission="*", pattern="*", action=Action.ALLOW),
    Rule(permission="doom_loop", pattern="*", action=Action.ASK),
    *EXTERNAL_DIRECTORY_RULES,
    *(Rule(permission=name, pattern="*", action=Action.DENY) for name in ("question", "plan_enter", "plan_exit")),
    Rule(permission="read", pattern="*", action=Action.ALLOW),
    *ENVIRONMENT_FILE_RULES,
)
_SPOOLS: Final = Rule(permission="external_directory", pattern="{data}/tool-output/*", action=Action.ALLOW)


def agent_rules(built_in: Ruleset, own: Iterable[Rule], *, data: Path, temporary: Path) -> Ruleset:
    """`built_in`, then `own` (the user's, then the agent's), and the allow of complete outputs' spools, unless `own`
    denies exactly those."""
    own, spools = tuple(own), _fill(_SPOOLS, data, temporary)
    rules = (*(_fill(rule, data, temporary) for rule in (*DEFAULT_RULES, *built_in)), *own)
    denied = any(rule.pattern == spools.pattern and rule.action is Action.DENY for rule in own)
    return rules if denied else (*rules, spools)


def _fill(rule: Rule, data: Path, temporary: Path) -> Rule:
    pattern = rule.pattern.replace("{data}", str(data)).replace("{temporary}", str(temporary))
    return rule if pattern == rule.pattern else rule.model_copy(update={"pattern": pattern})
