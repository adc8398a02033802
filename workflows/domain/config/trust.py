"""What a project's files may not decide alone: endpoints, keys, and looser permissions (security.md 12).

Whoever opens a hostile repository keeps their own configuration; what the repository wanted is named.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pydantic import JsonValue

from workflows.domain.config.config import Config
from workflows.domain.config.fields import KNOWN, JsonObject, Path, at, not_honoured, paths, put, split
from workflows.domain.config.looser import loosens
from workflows.domain.config.merge import Layer, merged, over
from workflows.domain.config.references import has_reference
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value

_MOST_RULES: Final = 200  # of one project file: judging them costs their number squared

# What a project's file may set; its permissions are judged one by one.
_FREE: Final = paths(
    "agent.build.maxSteps",
    "agent.build.model",
    "agent.build.steps",
    "compaction",
    "experimental.continue_loop_on_deny",
    "instructions",
    "model",
    "provider.*.models.*.attachment",
    "provider.*.models.*.id",
    "provider.*.models.*.limit",
    "provider.*.models.*.name",
    "provider.*.models.*.reasoning",
    "provider.*.models.*.temperature",
    "provider.*.models.*.tool_call",
    "provider.*.name",
    "tool_output",
    "username",
)
_SENT: Final = paths("model", "agent.build.model")  # texts that a provider gets to see
_ENDPOINT: Final = "endpoints, keys and prices count from your own configuration only"
_REFERENCE: Final = "a reference in what a provider gets to see counts from your own configuration only"
_LOOSE: Final = "it would make something easier than your own rules and the built-in ones do"
_MANY: Final = f"it has more than {_MOST_RULES} rules, too many to judge"
_PERMISSIONS: Final = paths("permission", "agent.build.permission")
_JUDGED: Final = (*_PERMISSIONS, *paths("tools", "agent.build.tools"))  # `tools` are part of the permissions already

RulesOf = Callable[[Config], Ruleset]


class HeldBack(Value):
    """A field of a project's file that has no effect until a person has accepted it."""

    file: str
    field: str
    why: str


def judged(layers: Sequence[Layer], rules_of: RulesOf) -> tuple[Config, tuple[HeldBack, ...]]:
    """The configuration that holds, and what of the project's files is held back from it.

    Tightening needs no trust: a project's rule counts wherever it makes no call easier than the user's own and
    the built-in rules do.
    """
    own = merged(layer.tree for layer in layers if layer.trusted)
    harmless = [(layer.tree, []) if layer.trusted else _harmless(layer) for layer in layers]
    held = [item for _, items in harmless for item in items]
    tree = merged(part for part, _ in harmless)
    permitted, loose = _permitted(own, [layer for layer in layers if not layer.trusted], rules_of)
    for place in _PERMISSIONS:
        tree = put(tree, place, _object(at(permitted, place)))
    return Config.model_validate(tree), (*held, *loose)


def _harmless(layer: Layer) -> tuple[JsonObject, list[HeldBack]]:
    sent = [path for path in _SENT if isinstance(text := at(layer.tree, path), str) and has_reference(text)]
    kept, rest = split(layer.tree, [path for path in _FREE if path not in sent])
    silent = {*not_honoured(layer.tree), *_JUDGED}
    held = [path for path in rest if path not in silent and path[0] in KNOWN]
    return kept, [_held(layer, path, _REFERENCE if path in sent else _ENDPOINT) for path in held]


def _permitted(own: JsonObject, projects: Sequence[Layer], rules_of: RulesOf) -> tuple[JsonObject, list[HeldBack]]:
    """The user's own settings with those of the projects' permissions that loosen nothing."""
    judge, held = _Judge(own, rules_of), []
    for layer in projects:
        for place in _PERMISSIONS:
            wanted = _object(at(layer.tree, place))
            if sum(len(_patterns(value)) for value in wanted.values()) > _MOST_RULES:
                held.append(_held(layer, place, _MANY))
                continue
            refused = [path for name, value in wanted.items() for path in judge.admit(place, name, value)]
            held += [_held(layer, path, _LOOSE) for path in refused]
    return judge.tree, held


class _Judge:
    """Adds one permission after the other to the user's own settings, and refuses what would loosen them."""

    def __init__(self, own: JsonObject, rules_of: RulesOf) -> None:
        self.tree = own
        self._rules_of = rules_of
        self._guards = self._rules(own)

    def admit(self, place: Path, name: str, value: JsonValue) -> list[Path]:
        """Count `value` as far as it loosens nothing; returns the paths of what was refused."""
        before = _object(at(self.tree, place))
        if self._count(put(self.tree, place, over(before, {name: value}))):
            return []
        return [
            (*place, name, pattern)
            for pattern, action in _patterns(value).items()
            if not self._admit_pattern(place, name, pattern, action)
        ]

    def _admit_pattern(self, place: Path, name: str, pattern: str, action: JsonValue) -> bool:
        """Try the rule after the user's own, then before them, where theirs stay the exceptions to it."""
        permission = _object(at(self.tree, place))
        existing = _patterns(permission.get(name))
        after = put(self.tree, place, {**permission, name: {**existing, pattern: action}})
        front = {pattern: action, **existing}
        before = put(self.tree, place, {**permission, name: front} if existing else {name: front, **permission})
        return self._count(after) or (self._tightens(before) and self._count(before))

    def _count(self, tree: JsonObject) -> bool:
        fits = not loosens(self._guards, self._rules(tree))
        self.tree = tree if fits else self.tree
        return fits

    def _tightens(self, tree: JsonObject) -> bool:
        return loosens(self._rules(tree), self._rules(self.tree))

    def _rules(self, tree: JsonObject) -> Ruleset:
        return self._rules_of(Config.model_validate(tree))


def _patterns(value: JsonValue) -> JsonObject:
    """A permission's value in its long form: pattern to action."""
    return value if isinstance(value, dict) else {"*": value} if value is not None else {}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _held(layer: Layer, path: Path, why: str) -> HeldBack:
    return HeldBack(file=layer.file, field=".".join(path), why=why)
