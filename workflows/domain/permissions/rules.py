"""Permission rules: the last matching one decides."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, Final, TypeAlias

from pydantic import SerializerFunctionWrapHandler, model_serializer

from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.overlap import covers, overlaps
from workflows.domain.permissions.wildcard import matches
from workflows.domain.value import Value

_PROTECTING_PERMISSIONS: Final = (
    permission_keys.BASH,
    permission_keys.READ,
    permission_keys.EDIT,
    permission_keys.EXTERNAL_DIRECTORY,
)


class Action(StrEnum):
    """`strictness` orders them."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        return tuple(Action).index(self)


class Rule(Value):
    """A glob for the permission, one for the subject, and the action. `unless`: exceptions, as pairs of such globs, so
    that a parent's denies hold for its subagents."""

    permission: str
    pattern: str
    action: Action
    unless: tuple[tuple[str, str], ...] = ()

    @model_serializer(mode="wrap")
    def _compact(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name != "unless" or value}

    def decides(self, permission: str, subject: str) -> bool:
        return _both_match(permission, subject, self.permission, self.pattern) and not any(
            _both_match(permission, subject, *excepted) for excepted in self.unless
        )


Ruleset: TypeAlias = tuple[Rule, ...]
PermissionConfig: TypeAlias = Action | Mapping[str, Action | Mapping[str, Action]]


@dataclass(frozen=True)
class Decision:
    """The decision on one subject; without a matching rule `ask`, index and rule are None."""

    action: Action
    index: int | None = None
    rule: Rule | None = None


@dataclass(frozen=True)
class ShadowedRules:
    """Ineffective because of a later, different one."""

    rules: Ruleset
    by: Rule


def from_config(config: PermissionConfig, home: str) -> Ruleset:
    """The rules in written order (opencode.md 2.1)."""
    if isinstance(config, str):
        return (Rule(permission="*", pattern="*", action=Action(config)),)
    return tuple(chain.from_iterable(_rules_of_key(key, value, home) for key, value in config.items()))


def deny_tools(tools: Mapping[str, bool]) -> Ruleset:
    """Denials of the tools that are false in `tools`: names or globs, as in the configuration."""
    return tuple(
        Rule(permission=permission_keys.current_key(name), pattern="*", action=Action.DENY)
        for name, allowed in tools.items()
        if not allowed
    )


def evaluate(permission: str, pattern: str, rules: Ruleset) -> Decision:
    """The last matching rule; none: ask."""
    for index in range(len(rules) - 1, -1, -1):
        if rules[index].decides(permission, pattern):
            return Decision(rules[index].action, index, rules[index])
    return Decision(Action.ASK)


def rules_about(permission: str, rules: Ruleset) -> Ruleset:
    """The rules about a permission: a refusal shows them (opencode.md 2.5)."""
    return tuple(rule for rule in rules if matches(permission, rule.permission))


def is_switched_off(permission: str, rules: Ruleset) -> bool:
    """Whether its tools are not offered: the last rule about it denies everything."""
    about = [rule for rule in rules_about(permission, rules) if not rule.unless]
    return bool(about) and about[-1].pattern == "*" and about[-1].action is Action.DENY


def nothing_to_protect(rules: Ruleset) -> bool:
    """Whether no deny guards files or commands, and every command is allowed (security.md 2.3, step 9)."""
    guards = chain.from_iterable(rules_about(permission, rules) for permission in _PROTECTING_PERMISSIONS)
    return all(rule.action is not Action.DENY for rule in guards) and all(
        rule.action is Action.ALLOW for rule in rules_about(permission_keys.BASH, rules)
    )


def only_denies(rules: Ruleset) -> Ruleset:
    """Rules that, placed after any others, deny exactly what these deny and decide nothing else."""
    return tuple(
        rule.model_copy(update={"unless": (*rule.unless, *_overruling(rule, rules[index:]))})
        for index, rule in enumerate(rules, start=1)
        if rule.action is Action.DENY
    )


def is_denied_by_default(permission: str, rules: Ruleset) -> bool:
    """Whether it is denied wherever no narrower rule differs (`edit` for a read-only agent)."""
    return evaluate(permission, "*", rules).action is Action.DENY


def find_shadowed(rules: Ruleset) -> tuple[ShadowedRules, ...]:
    """Rules that never decide: the last later one that covers them differs."""
    found: dict[int, list[Rule]] = {}
    for index, rule in enumerate(rules):
        covering = [later for later in range(index + 1, len(rules)) if _covers(rules[later], rule)]
        if covering and rules[covering[-1]].action is not rule.action:
            found.setdefault(covering[-1], []).append(rule)
    return tuple(ShadowedRules(tuple(hidden), rules[by]) for by, hidden in sorted(found.items()))


def _rules_of_key(permission: str, value: Action | Mapping[str, Action], home: str) -> Iterator[Rule]:
    entries = {"*": value} if isinstance(value, str) else value
    permission = permission_keys.current_key(permission)
    for pattern, action in entries.items():
        yield Rule(permission=permission, pattern=_expand_home(pattern, home), action=Action(action))


def _expand_home(pattern: str, home: str) -> str:
    if pattern == "~" or pattern.startswith("~/"):
        return home + pattern[1:]
    if pattern.startswith("$HOME"):
        return home + pattern.removeprefix("$HOME")
    return pattern


def _both_match(permission: str, subject: str, permission_glob: str, subject_glob: str) -> bool:
    return matches(permission, permission_glob) and matches(subject, subject_glob)


def _overruling(rule: Rule, later: Ruleset) -> Iterator[tuple[str, str]]:
    for other in later:
        if (
            other.action is not rule.action
            and overlaps(other.permission, rule.permission)
            and overlaps(other.pattern, rule.pattern)
        ):
            yield other.permission, other.pattern


def _covers(wide: Rule, narrow: Rule) -> bool:
    return covers(wide.permission, narrow.permission) and covers(wide.pattern, narrow.pattern)
