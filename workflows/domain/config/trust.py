"""What a project's files may not decide alone: how models are reached, and looser permissions (security.md 12)."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial, reduce
from typing import Final, NamedTuple

from pydantic import JsonValue

from workflows.domain.agents.agent import AgentMode
from workflows.domain.agents.built_in import BUILD, BUILT_IN, RESERVED
from workflows.domain.config.config import Config
from workflows.domain.config.fields import (
    CLIENT_FIELDS,
    KNOWN_FIELDS,
    FieldPath,
    JsonObject,
    field_paths,
    is_within,
    split_by_paths,
    unsupported_fields,
    value_at,
    with_value_at,
    without_path,
)
from workflows.domain.config.limits import loosened_limits
from workflows.domain.config.loosening import loosens
from workflows.domain.config.merge import ConfigLayer, deep_merge, merge_files
from workflows.domain.config.references import has_reference
from workflows.domain.config.trust_items import TrustItem
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.rules import Action, Ruleset, evaluate, from_config

_MOST_RULES: Final = 200  # of one project file: checking them takes quadratic time
_MOST_TOGETHER: Final = 1000  # of all files of a project: a repository could hold thousands

# What a project's file may set; permissions are checked one by one.
_UNRESTRICTED: Final = field_paths(
    """agent.*.color agent.*.description agent.*.disable agent.*.hidden agent.*.mode agent.*.model
    agent.*.name agent.*.prompt agent.*.steps agent.*.temperature agent.*.top_p agent.*.variant
    command compaction default_agent disabled_providers enabled_providers
    experimental.continue_loop_on_deny experimental.primary_tools
    instructions model small_model
    provider.*.models.*.attachment provider.*.models.*.name provider.*.models.*.reasoning
    provider.*.models.*.temperature provider.*.models.*.tool_call provider.*.name
    provider.*.blacklist provider.*.whitelist skills.paths tool_output"""
)
_ENDPOINT: Final = (
    "endpoints, keys, options, prices, limits and names of models are read only from your own configuration"
)
_REFERENCE: Final = "a reference in what a provider gets to see counts from your own configuration only"
_HOLDFAST: Final = "limits of what a session may use, and a larger model, count from your own configuration only"
_DEPTH: Final = "how deep subagents may go counts from your own configuration only"
_LOOSE: Final = "it would make something easier than your own rules and the built-in ones do"
_FREED: Final = "a subagent gets a task list, or subagents of its own, where your own configuration says so only"
_ANY_AGENT: Final = "any"  # an agent without settings of its own
_TOO_MANY: Final = f"it has more than {_MOST_RULES} rules, too many to judge"
_TOO_MANY_TOGETHER: Final = f"this project's files have more than {_MOST_TOGETHER:,} rules, too many to judge"
_PERMISSION_FIELDS: Final = field_paths("permission agent.*.permission tools agent.*.tools")  # or part of those already

_ADDRESS: Final = "addresses on the net are fetched only for your own configuration"
_OWN_ONLY: Final = {"skills": _ADDRESS, "subagent_depth": _DEPTH, "holdfast": _HOLDFAST}

RulesOf = Callable[[Config, str], Ruleset]  # of the agent with this name
Step = Callable[[JsonObject], JsonObject]  # adds permissions to a configuration


class AppliedTrust(NamedTuple):
    """`config`: what has effect. `own`: the part that no rule of the project can loosen, which is the user's own with
    what they have accepted. `items`: of the project's files, what has an effect only once it is accepted."""

    config: Config
    own: Config
    items: tuple[TrustItem, ...]


def apply_trust(layers: Sequence[ConfigLayer], rules_of: RulesOf, *, accepted: Collection[str] = ()) -> AppliedTrust:
    """Tightening needs no trust: a project's rule counts if it makes no call easier than the user's own and the
    built-in rules do. The items of files that are `accepted` count as the user's own, and nothing but them."""
    own = merge_files(layer.tree for layer in layers if layer.trusted)
    settings = Config.model_validate(own)
    harmless = [(layer.tree, []) if layer.trusted else _split_harmless(layer, own) for layer in layers]
    held = [item for _, items in harmless for item in items]
    tree = merge_files(
        layer.tree if layer.file in accepted else part for layer, (part, _) in zip(layers, harmless, strict=True)
    )
    configured = set().union(*(_object(layer.tree.get("agent")) for layer in layers)) - RESERVED
    names = sorted(BUILT_IN.keys() | configured)
    sections = [("permission",), *(("agent", name, "permission") for name in names)]
    merger = _PermissionMerger(own, rules_of, _agents_with_rules(own))
    loose = _admit_permissions(merger, [layer for layer in layers if not layer.trusted], sections)
    primary = _primary_agents(Config.model_validate(tree))
    freed = [
        item for layer in layers if not layer.trusted for item in _freed_subagents(layer, settings, primary, loose)
    ]
    permissions = merger.accepted_tree(accepted) if accepted else merger.tree
    for section in sections:
        if (permitted := _object(value_at(permissions, section))) or value_at(tree, section):
            tree = with_value_at(tree, section, permitted)
    items = (*held, *loose, *freed)
    if accepted:
        rules = (each for each in items if each.file in accepted and is_within(each.path, _PERMISSION_FIELDS))
        own = reduce(_with_rule, rules, own)
    found, known = (Config.model_validate(each, by_name=False) for each in (tree, own))  # OpenCode's names alone
    return AppliedTrust(found, known, items)


def _with_rule(tree: JsonObject, item: TrustItem) -> JsonObject:
    length = 1 if item.path[0] == "permission" else 3
    section, below = item.path[:length], item.path[length:]
    if len(below) == 2:
        return _placed_after(tree, section, *below, item.value)
    permissions = {below[0]: item.value} if below else _object(item.value)
    return reduce(lambda known, name: _merged(known, section, name, permissions[name]), permissions, tree)


def _freed_subagents(
    layer: ConfigLayer, own: Config, primary: Collection[str], loose: Sequence[TrustItem]
) -> Iterator[TrustItem]:
    """Items for rules that are no looser than others, but free a subagent of its bounds."""
    for name, agent in _object(layer.tree.get("agent")).items():
        permissions = _object(_object(agent).get("permission"))
        known = own.agent[name].permission if name in own.agent else {}
        for key in (permission_keys.TODOWRITE, permission_keys.TASK):
            path, value = ("agent", name, "permission", key), permissions.get(key)
            strict = {*_patterns(value).values()} <= {Action.DENY}
            if not strict and name not in primary and key not in known and not _holds(loose, layer.file, path):
                yield _item(layer, path, _FREED)


def _holds(items: Sequence[TrustItem], file: str, path: FieldPath) -> bool:
    """Whether one is this field, or a part of it, or has it as a part."""
    return any(item.file == file and all(a == b for a, b in zip(item.path, path, strict=False)) for item in items)


def _agents_with_rules(own: JsonObject) -> list[str]:
    return sorted({*BUILT_IN}.union(_object(own.get("agent")), {_ANY_AGENT}))


def _primary_agents(own: Config) -> frozenset[str]:
    built_in = {name: agent.mode for name, agent in BUILT_IN.items()}
    modes = {name: agent.mode for name, agent in own.agent.items() if agent.mode is not None}
    return frozenset(name for name, mode in (built_in | modes).items() if mode is AgentMode.PRIMARY)


def _split_harmless(layer: ConfigLayer, own: JsonObject) -> tuple[JsonObject, list[TrustItem]]:
    models = [("model",), ("small_model",), *(("agent", name, "model") for name in _object(layer.tree.get("agent")))]
    sent = [path for path in models if isinstance(text := value_at(layer.tree, path), str) and has_reference(text)]
    loosened = dict(loosened_limits(own, layer.tree))
    plain = reduce(without_path, (*sent, *loosened), layer.tree)
    kept, rest = split_by_paths(plain, _UNRESTRICTED)
    silent = unsupported_fields(layer.tree)
    held = [
        each
        for path in rest
        for each in _by_option(layer.tree, path)
        if path[0] in KNOWN_FIELDS
        and path[0] not in CLIENT_FIELDS
        and path not in silent
        and not is_within(path, _PERMISSION_FIELDS)
    ]
    return kept, [
        *(_item(layer, path, _REFERENCE) for path in sent),
        *(_item(layer, path, why) for path, why in loosened.items()),
        *(_item(layer, path, _OWN_ONLY.get(path[0], _ENDPOINT)) for path in held),
    ]


def _by_option(tree: JsonObject, path: FieldPath) -> list[FieldPath]:
    """An agent's options stand among its fields, each at a line of its own."""
    if path[:1] + path[2:] != ("agent", "options"):
        return [path]
    return [(*path, key) for key in _object(value_at(tree, path))]


def _admit_permissions(
    merger: "_PermissionMerger", projects: Sequence[ConfigLayer], sections: Sequence[FieldPath]
) -> list[TrustItem]:
    held, judged = list[TrustItem](), 0
    for layer in projects:
        named = _object(layer.tree.get("agent"))
        own = (section for section in sections if len(section) == 1 or section[1] in named)
        wanted = {section: _object(value_at(layer.tree, section)) for section in own}
        count = sum(len(_patterns(value)) for each in wanted.values() for value in each.values())
        many = _TOO_MANY if count > _MOST_RULES else _TOO_MANY_TOGETHER if judged + count > _MOST_TOGETHER else None
        judged += 0 if many else count
        for section, permissions in wanted.items():
            if many and permissions:
                held.append(_item(layer, section, many))
                merger.hold(layer.file, section, permissions)
                continue
            for name, value in permissions.items():
                patterns = _patterns(value)
                refused = merger.admit(layer.file, section, name, value)
                held += [_item(layer, (*section, name, each), _LOOSE, patterns[each]) for each in refused]
    return held


def _merged(tree: JsonObject, section: FieldPath, name: str, value: JsonValue) -> JsonObject:
    return with_value_at(tree, section, deep_merge(_object(value_at(tree, section)), {name: value}))


def _placed_after(tree: JsonObject, section: FieldPath, name: str, pattern: str, action: JsonValue) -> JsonObject:
    permission = _object(value_at(tree, section))
    patterns: JsonValue = {**_patterns(permission.get(name)), pattern: action}
    placed = action if name in permission_keys.PATTERNLESS else patterns
    return with_value_at(tree, section, {**permission, name: placed})


def _placed_before(tree: JsonObject, section: FieldPath, name: str, pattern: str, action: JsonValue) -> JsonObject:
    permission = _object(value_at(tree, section))
    existing = _patterns(permission.get(name))
    if name in permission_keys.PATTERNLESS:
        return with_value_at(tree, section, {name: action, **permission})
    front: JsonObject = {pattern: action, **existing}
    return with_value_at(tree, section, {**permission, name: front} if existing else {name: front, **permission})


class _PermissionMerger:
    """Adds permissions unless they loosen the user's own. One for all agents is checked by the rules of `build`, and
    against what the user's rules for each other agent ask about or deny."""

    def __init__(self, own: JsonObject, rules_of: RulesOf, agents: Sequence[str]) -> None:
        self.tree = own
        self._own = own
        self._rules_of = rules_of
        self._agents = agents
        self._denied: dict[str, frozenset[str]] = {}  # by agent
        self._steps: list[tuple[str | None, Step]] = []  # those that were refused with their file

    def accepted_tree(self, files: Collection[str]) -> JsonObject:
        """With what was refused of these files in its place among the others: what comes later in a file stays an
        exception of it."""
        steps = (step for file, step in self._steps if file is None or file in files)
        return reduce(lambda tree, step: step(tree), steps, self._own)

    def hold(self, file: str, section: FieldPath, permissions: JsonObject) -> None:
        """Refuse them without a look."""
        for name, value in permissions.items():
            self._steps.append((file, partial(_merged, section=section, name=name, value=value)))

    def admit(self, file: str, section: FieldPath, name: str, value: JsonValue) -> list[str]:
        """Returns the patterns of what would loosen."""
        if self._accept_if_harmless(section, partial(_merged, section=section, name=name, value=value)):
            return []
        return [
            pattern
            for pattern, action in _patterns(value).items()
            if not self._admit_pattern(file, section, name, pattern, action)
        ]

    def _admit_pattern(self, file: str, section: FieldPath, name: str, pattern: str, action: JsonValue) -> bool:
        """First after the user's own rules, then before them, where theirs stay its exceptions."""
        after, before = (
            partial(place, section=section, name=name, pattern=pattern, action=action)
            for place in (_placed_after, _placed_before)
        )
        if self._accept_if_harmless(section, after):
            return True
        settled = evaluate(name, pattern, self._rules(section, self._own)).action
        # A rule that the user's own hide completely is no repetition, but a wish for more.
        if action == Action.ASK and settled is not Action.DENY and self._accept_if_harmless(section, before):
            return True
        self._steps.append((file, after))
        return False

    def _accept_if_harmless(self, section: FieldPath, step: Step) -> bool:
        tree = step(self.tree)
        fits = not (
            loosens(self._rules(section, self._own), self._rules(section, tree))
            or self._loosens_another_agent(section, tree)
            or self._lifts_denial(section, tree)
        )
        if fits:
            self.tree = tree
            self._steps.append((None, step))
        return fits

    def _loosens_another_agent(self, section: FieldPath, tree: JsonObject) -> bool:
        return section[0] != "agent" and any(
            loosens(self._agent_rules(agent, self._own), self._agent_rules(agent, tree), silently=True)
            for agent in self._agents
        )

    def _lifts_denial(self, section: FieldPath, tree: JsonObject) -> bool:
        """Whether it lifts a denial of the user's own for what is never asked about; built-in denials may be lifted."""
        return any(
            denied - _denied_offers(self._permissions(agent, tree), agent)
            for agent in (section[1:2] or self._agents)
            if (denied := self._own_denials(agent))
        )

    def _own_denials(self, agent: str) -> frozenset[str]:
        if agent not in self._denied:
            self._denied[agent] = _denied_offers(self._permissions(agent, self._own), agent)
        return self._denied[agent]

    def _rules(self, section: FieldPath, tree: JsonObject) -> Ruleset:
        return self._agent_rules(section[1] if section[0] == "agent" else BUILD.name, tree)

    def _agent_rules(self, agent: str, tree: JsonObject) -> Ruleset:
        return self._rules_of(self._permissions(agent, tree), agent)

    def _permissions(self, agent: str, tree: JsonObject) -> Config:
        """Of the permissions alone: validating all agents for each rule of each would take quadratic time."""
        own = _object(value_at(tree, ("agent", agent, "permission")))
        permissions: JsonObject = {
            "permission": _object(tree.get("permission")),
            "agent": {agent: {"permission": own}},
        }
        return Config.model_validate(permissions)


def _denied_offers(config: Config, agent: str) -> frozenset[str]:
    configured = [
        rule for each in (config.permission, config.agent[agent].permission) for rule in from_config(each, "")
    ]
    denied = (key for key in permission_keys.NEVER_ASKED if evaluate(key, "*", tuple(configured)).action is Action.DENY)
    return frozenset(denied)


def _patterns(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {"*": value} if value is not None else {}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _item(layer: ConfigLayer, path: FieldPath, why: str, value: JsonValue = None) -> TrustItem:
    return TrustItem(file=layer.file, path=path, value=value_at(layer.tree, path) if value is None else value, why=why)
