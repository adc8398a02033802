"""Rules: which action a permission and a pattern get; the last matching rule of a list decides."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, Final, TypeAlias

from pydantic import SerializerFunctionWrapHandler, model_serializer

from workflows.domain.permissions.overlap import covers, meet
from workflows.domain.permissions.wildcard import matches
from workflows.domain.value import Value

_TOOLS: Final = {  # tool → permission, where the names differ (opencode.md 2.3)
    "write": "edit",
    "apply_patch": "edit",
    "list_mcp_resources": "read",
    "list_mcp_resource_templates": "read",
    "read_mcp_resource": "read",
}
EDITING: Final = frozenset({"edit", "write", "patch", "multiedit", "apply_patch"})  # all are the permission `edit`
_PROTECTING: Final = ("bash", "read", "edit", "external_directory")


class Action(StrEnum):
    """What a rule says; `strictness` orders them."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        return tuple(Action).index(self)


class Rule(Value):
    """One rule: a glob for the permission, a glob for the subject, and the action.

    `unless` names what it does not decide, as pairs of such globs: how the denies of a parent hold for its subagents.
    """

    permission: str
    pattern: str
    action: Action
    unless: tuple[tuple[str, str], ...] = ()

    @model_serializer(mode="wrap")
    def _compact(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name != "unless" or value}

    def decides(self, permission: str, subject: str) -> bool:
        """Whether this rule is about the permission and the subject."""
        return _both_match(permission, subject, self.permission, self.pattern) and not any(
            _both_match(permission, subject, *excepted) for excepted in self.unless
        )


Ruleset: TypeAlias = tuple[Rule, ...]
Config: TypeAlias = Action | Mapping[str, Action | Mapping[str, Action]]


@dataclass(frozen=True)
class Decision:
    """What a list of rules says of one subject; without a matching rule `ask`, index and rule are None."""

    action: Action
    index: int | None = None
    rule: Rule | None = None


@dataclass(frozen=True)
class Shadowed:
    """Rules that a later one, which says something else, makes ineffective: a warning when a project is loaded."""

    rules: Ruleset
    by: Rule


def from_config(config: Config, home: str) -> Ruleset:
    """The rules of a `permission` value, in written order (opencode.md 2.1)."""
    if isinstance(config, str):
        return (Rule(permission="*", pattern="*", action=Action(config)),)
    return tuple(chain.from_iterable(_of_key(key, value, home) for key, value in config.items()))


def merge(*rulesets: Iterable[Rule]) -> Ruleset:
    """Rulesets are only ever concatenated."""
    return tuple(chain.from_iterable(rulesets))


def evaluate(permission: str, pattern: str, rules: Ruleset) -> Decision:
    """The last rule that matches both; none: ask."""
    for index in range(len(rules) - 1, -1, -1):
        if rules[index].decides(permission, pattern):
            return Decision(rules[index].action, index, rules[index])
    return Decision(Action.ASK)


def relevant(permission: str, rules: Ruleset) -> Ruleset:
    """The rules about a permission, whatever their pattern: what a refusal shows (opencode.md 2.5)."""
    return tuple(rule for rule in rules if matches(permission, rule.permission))


def permission_of(tool: str) -> str:
    """The permission that a tool's calls need."""
    return _TOOLS.get(tool, tool)


def disabled_tools(tools: Iterable[str], rules: Ruleset) -> tuple[str, ...]:
    """The tools that are not even offered: the last rule about their permission denies everything."""
    return tuple(tool for tool in tools if _disabled(permission_of(tool), rules))


def nothing_to_protect(rules: Ruleset) -> bool:
    """Whether no deny guards files or commands, and every command is allowed (security.md 2.3, step 9)."""
    guards = chain.from_iterable(relevant(permission, rules) for permission in _PROTECTING)
    return all(rule.action is not Action.DENY for rule in guards) and all(
        rule.action is Action.ALLOW for rule in relevant("bash", rules)
    )


def denies(rules: Ruleset) -> Ruleset:
    """Rules that, put behind any others, deny exactly what these deny, and decide nothing else."""
    return exactly(Action.DENY, rules)


def exactly(action: Action, rules: Ruleset) -> Ruleset:
    """Rules that, put behind any others, say `action` exactly where these do, and decide nothing else."""
    return tuple(
        rule.model_copy(update={"unless": (*rule.unless, *_overruling(rule, rules[index:]))})
        for index, rule in enumerate(rules, start=1)
        if rule.action is action
    )


def denied_throughout(permission: str, rules: Ruleset) -> bool:
    """Whether a permission is denied wherever no narrower rule says otherwise (`edit` for a read-only agent)."""
    return evaluate(permission, "*", rules).action is Action.DENY


def shadowed(rules: Ruleset) -> tuple[Shadowed, ...]:
    """The rules that never decide, because the last later one that covers them says something else."""
    found: dict[int, list[Rule]] = {}
    for index, rule in enumerate(rules):
        covering = [later for later in range(index + 1, len(rules)) if _covers(rules[later], rule)]
        if covering and rules[covering[-1]].action is not rule.action:
            found.setdefault(covering[-1], []).append(rule)
    return tuple(Shadowed(tuple(hidden), rules[by]) for by, hidden in sorted(found.items()))


def _of_key(permission: str, value: Action | Mapping[str, Action], home: str) -> Iterator[Rule]:
    entries = {"*": value} if isinstance(value, str) else value
    permission = "edit" if permission in EDITING else permission
    for pattern, action in entries.items():
        yield Rule(permission=permission, pattern=_expanded(pattern, home), action=Action(action))


def _expanded(pattern: str, home: str) -> str:
    if pattern == "~" or pattern.startswith("~/"):
        return home + pattern[1:]
    if pattern.startswith("$HOME"):
        return home + pattern.removeprefix("$HOME")
    return pattern


def _both_match(permission: str, subject: str, permission_glob: str, subject_glob: str) -> bool:
    return matches(permission, permission_glob) and matches(subject, subject_glob)


def _overruling(rule: Rule, later: Ruleset) -> Iterator[tuple[str, str]]:
    """What later rules say something else about."""
    for other in later:
        if (
            other.action is not rule.action
            and meet(other.permission, rule.permission)
            and meet(other.pattern, rule.pattern)
        ):
            yield other.permission, other.pattern


def _disabled(permission: str, rules: Ruleset) -> bool:
    about = [rule for rule in relevant(permission, rules) if not rule.unless]
    return bool(about) and about[-1].pattern == "*" and about[-1].action is Action.DENY


def _covers(wide: Rule, narrow: Rule) -> bool:
    return covers(wide.permission, narrow.permission) and covers(wide.pattern, narrow.pattern)
