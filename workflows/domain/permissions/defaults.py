"""The rules of every agent before any configuration (opencode.md 1.1). `{data}` is Holdfast's data directory,
`{data_from_root}` the same as paths of edits name it, `{temporary}` the host's temporary directory."""

from collections.abc import Iterable, Mapping
from functools import reduce
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


def agent_rules(
    built_in: Ruleset, own: Iterable[Rule], *, data: Path, temporary: Path, data_from_root: str | None = None
) -> Ruleset:
    """`built_in`, then `own` (the user's, then the agent's), and the allow of complete outputs' spools, unless `own`
    denies exactly those."""
    places = {"{data}": str(data), "{data_from_root}": data_from_root or str(data), "{temporary}": str(temporary)}
    own, spools = tuple(own), _fill(_SPOOLS, places)
    rules = (*(_fill(rule, places) for rule in (*DEFAULT_RULES, *built_in)), *own)
    denied = any(rule.pattern == spools.pattern and rule.action is Action.DENY for rule in own)
    return rules if denied else (*rules, spools)


def _fill(rule: Rule, places: Mapping[str, str]) -> Rule:
    pattern = reduce(lambda text, place: text.replace(place, places[place]), places, rule.pattern)
    return rule if pattern == rule.pattern else rule.model_copy(update={"pattern": pattern})
