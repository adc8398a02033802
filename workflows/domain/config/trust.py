"""What a project's files may not decide alone: how models are reached, and looser permissions (security.md 12).

Whoever opens a hostile repository keeps their own configuration; what the repository wanted is named.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from workflows.domain.agents import BUILD, BUILT_IN, RESERVED
from workflows.domain.config.config import Config, Mode
from workflows.domain.config.fields import KNOWN, JsonObject, Path, at, not_honoured, paths, put, split, within, without
from workflows.domain.config.looser import loosens
from workflows.domain.config.merge import Layer, merged, over
from workflows.domain.config.references import has_reference
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value

_MOST_RULES: Final = 200  # of one project file: judging them costs their number squared

# What a project's file may set; its permissions are judged one by one.
_FREE: Final = paths(
    "agent.*.description",
    "agent.*.disable",
    "agent.*.hidden",
    "agent.*.maxSteps",
    "agent.*.mode",
    "agent.*.model",
    "agent.*.steps",
    "compaction",
    "default_agent",
    "experimental.continue_loop_on_deny",
    "instructions",
    "model",
    "provider.*.models.*.attachment",
    "provider.*.models.*.name",
    "provider.*.models.*.reasoning",
    "provider.*.models.*.temperature",
    "provider.*.models.*.tool_call",
    "provider.*.name",
    "tool_output",
    "username",
)
_ENDPOINT: Final = "endpoints, keys, prices, limits and names of models are read only from your own configuration"
_REFERENCE: Final = "a reference in what a provider gets to see counts from your own configuration only"
_DEPTH: Final = "how deep subagents may go counts from your own configuration only"
_ALONE: Final = "other agents get this one's help only where your own configuration says so"
_STEPS: Final = "a limit of steps is raised by your own configuration only"
_LOOSE: Final = "it would make something easier than your own rules and the built-in ones do"
_ANY: Final = "any"  # an agent without settings of its own
_MANY: Final = f"it has more than {_MOST_RULES} rules, too many to judge"
_JUDGED: Final = paths("permission", "agent.*.permission", "tools", "agent.*.tools")  # or part of those already

_HOW_DEEP: Final = ("subagent_depth",)

RulesOf = Callable[[Config, str], Ruleset]  # of the agent with this name


class HeldBack(Value):
    """A field of a project's file that has no effect until a person has accepted it."""

    file: str
    field: str
    why: str


def judged(layers: Sequence[Layer], rules_of: RulesOf) -> tuple[Config, tuple[HeldBack, ...]]:
    """The configuration that holds, and which fields of the project's files are ignored.

    Tightening needs no trust: a project's rule counts wherever it makes no call easier than the user's own and
    the built-in rules do.
    """
    own = merged(layer.tree for layer in layers if layer.trusted)
    settings = Config.model_validate(own)
    harmless = [(layer.tree, []) if layer.trusted else _harmless(layer, settings) for layer in layers]
    held = [item for _, items in harmless for item in items]
    tree = merged(part for part, _ in harmless)
    configured = set().union(*(_object(layer.tree.get("agent")) for layer in layers)) - RESERVED
    names = sorted({agent.name for agent in BUILT_IN} | configured)
    places = [("permission",), *(("agent", name, "permission") for name in names)]
    judge = _Judge(own, rules_of, _known(own))
    loose = _permitted(judge, [layer for layer in layers if not layer.trusted], places)
    for place in places:
        if (permitted := _object(at(judge.tree, place))) or at(tree, place):
            tree = put(tree, place, permitted)
    return Config.model_validate(tree), (*held, *loose)


def _known(own: JsonObject) -> list[str]:
    """The agents that a user's own rules are about: built-in, configured, and any that a project may bring along."""
    return sorted({agent.name for agent in BUILT_IN}.union(_object(own.get("agent")), {_ANY}))


def _alone(own: Config) -> frozenset[str]:
    """The agents that work for people only, by the user's own files."""
    built_in = {agent.name: agent.mode for agent in BUILT_IN}
    modes = {name: agent.mode for name, agent in own.agent.items() if agent.mode is not None}
    return frozenset(name for name, mode in (built_in | modes).items() if mode is Mode.PRIMARY)


def _longer(layer: Layer, own: Config) -> Iterator[Path]:
    """Where a project's file lets an agent take more steps than the user's own files do."""
    for name, agent in own.agent.items():
        for path in (("agent", name, "steps"), ("agent", name, "maxSteps")):
            steps = at(layer.tree, path)
            if agent.steps is not None and isinstance(steps, int) and steps > agent.steps:
                yield path


def _harmless(layer: Layer, own: Config) -> tuple[JsonObject, list[HeldBack]]:
    """What of a project's file counts as it stands. A text that a provider gets to see must not hold a reference, and
    by the user's own files no agent gets work from others that gets none, or takes more steps."""
    models = [("model",), *(("agent", name, "model") for name in _object(layer.tree.get("agent")))]
    sent = [path for path in models if isinstance(text := at(layer.tree, path), str) and has_reference(text)]
    modes = [("agent", name, "mode") for name in _alone(own)]
    opened = [path for path in modes if at(layer.tree, path) not in (None, Mode.PRIMARY)]
    longer = [*_longer(layer, own)]
    plain = layer.tree
    for path in (*sent, *opened, *longer):
        plain = without(plain, path)
    kept, rest = split(plain, _FREE)
    silent = not_honoured(layer.tree)
    held = [path for path in rest if path[0] in KNOWN and path not in silent and not within(path, _JUDGED)]
    return kept, [
        *(_held(layer, path, _REFERENCE) for path in sent),
        *(_held(layer, path, _ALONE) for path in opened),
        *(_held(layer, path, _STEPS) for path in longer),
        *(_held(layer, path, _DEPTH if path == _HOW_DEEP else _ENDPOINT) for path in held),
    ]


def _permitted(judge: "_Judge", projects: Sequence[Layer], places: Sequence[Path]) -> list[HeldBack]:
    """Have those of the projects' permissions count that loosen nothing; the others."""
    held = []
    for layer in projects:
        wanted = {place: _object(at(layer.tree, place)) for place in places}
        many = sum(len(_patterns(value)) for each in wanted.values() for value in each.values()) > _MOST_RULES
        for place, permissions in wanted.items():
            if many and permissions:
                held.append(_held(layer, place, _MANY))
                continue
            refused = [path for name, value in permissions.items() for path in judge.admit(place, name, value)]
            held += [_held(layer, path, _LOOSE) for path in refused]
    return held


class _Judge:
    """Adds one permission after the other to the user's own settings, and refuses what would loosen them.

    What is said for all agents is judged by the rules of `build`, and lets no other agent do anything unasked that the
    user's own rules for that one ask about or deny.
    """

    def __init__(self, own: JsonObject, rules_of: RulesOf, agents: Sequence[str]) -> None:
        self.tree = own
        self._own = own
        self._rules_of = rules_of
        self._agents = agents

    def admit(self, place: Path, name: str, value: JsonValue) -> list[Path]:
        """Count `value` as far as it loosens nothing; returns the paths of what was refused."""
        before = _object(at(self.tree, place))
        if self._count(place, put(self.tree, place, over(before, {name: value}))):
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
        return self._count(place, after) or (self._tightens(place, before) and self._count(place, before))

    def _count(self, place: Path, tree: JsonObject) -> bool:
        fits = not loosens(self._rules(place, self._own), self._rules(place, tree)) and not self._frees(place, tree)
        self.tree = tree if fits else self.tree
        return fits

    def _frees(self, place: Path, tree: JsonObject) -> bool:
        """Whether what is said for all agents lets one of the others do something unasked."""
        own, config = Config.model_validate(self._own), Config.model_validate(tree)
        return place[0] != "agent" and any(
            loosens(self._rules_of(own, agent), self._rules_of(config, agent), silently=True) for agent in self._agents
        )

    def _tightens(self, place: Path, tree: JsonObject) -> bool:
        return loosens(self._rules(place, tree), self._rules(place, self.tree))

    def _rules(self, place: Path, tree: JsonObject) -> Ruleset:
        """The rules of the agent that a place is about."""
        return self._rules_of(Config.model_validate(tree), place[1] if place[0] == "agent" else BUILD.name)


def _patterns(value: JsonValue) -> JsonObject:
    """A permission's value in its long form: pattern to action."""
    return value if isinstance(value, dict) else {"*": value} if value is not None else {}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _held(layer: Layer, path: Path, why: str) -> HeldBack:
    return HeldBack(file=layer.file, field=".".join(path), why=why)
