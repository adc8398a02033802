"""What a project's files decide (security.md 12): what starts or redirects something counts once a person has accepted
it, limits where they are the tighter ones, rules beside one's own (`rulesets`), and all else at once."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from workflows.domain.agents.built_in import BUILD, BUILT_IN
from workflows.domain.config.agent_selection import available_agents, default_agent
from workflows.domain.config.config import Config
from workflows.domain.config.fields import (
    CLIENT_FIELDS,
    SUPPORTED_FIELDS,
    FieldPath,
    JsonObject,
    field_paths,
    is_within,
    split_by_paths,
    value_at,
    with_value_at,
    without_path,
)
from workflows.domain.config.limits import LIMITS, loosened_limits
from workflows.domain.config.merge import ConfigLayer, merge_files
from workflows.domain.config.references import has_reference, iter_texts
from workflows.domain.config.trust_items import TrustItem, UntrustedField
from workflows.domain.errors import ConfigError, UnknownAgent

MAX_RULES: Final = 1000  # of a project, for one agent: each of its calls is judged by them
_NARROWING: Final = ("whitelist", "blacklist")  # the fields of a provider that only take away
_OFF: Final[JsonObject] = {"enabled": False}  # takes a server away
_TEXTS: Final = field_paths("agent.*.prompt command.*.template")  # their files are read as texts
_NEVER: Final = (
    "what sessions may use, a larger model, the web's hosts, and trust count from your own configuration only"
)


class Choice:
    """Which agents a project may give the work to without acceptance. `own`: one's own files alone."""

    def __init__(self, own: Config) -> None:
        self._own = own
        self._known = available_agents(own)
        try:
            self.default = default_agent(own, self._known).name
        except UnknownAgent:
            self.default = own.default_agent or BUILD.name  # which may be an agent of the project

    def is_known(self, agent: str) -> bool:
        """Whether it is one's own, or a built-in one."""
        return agent in BUILT_IN or agent in self._own.agent

    def is_subagent(self, agent: str) -> bool:
        """Whether it works for other agents only: any model may hand it work, as far as rules say so."""
        return agent in self._known and not self._known[agent].selectable

    def allows(self, agent: str) -> bool:
        """An agent of the project's alone, which is judged as one's default agent; that one; and a built-in one in
        place of `build`, where one's own files have no settings for either."""
        plain = not {agent, BUILD.name} & self._own.agent.keys()
        return not self.is_known(agent) or agent == self.default or (plain and self.default == BUILD.name)


class AppliedTrust(NamedTuple):
    """`config`: what counts, with the rules of all files. `own`: of one's own and the accepted files, which judge each
    call, too. `ignored`: limits that would be looser."""

    config: Config
    own: Config
    ignored: tuple[UntrustedField, ...]


def apply_trust(layers: Sequence[ConfigLayer], default: str, *, rules_accepted: bool) -> AppliedTrust:
    """`layers`: without what is held; `default`: one's default agent. Raises ConfigError for too many rules."""
    _check_number(layers)
    known = merge_files(each.tree for each in layers if each.trusted or (rules_accepted and each.is_of_project))
    tree = merge_files(each.tree for each in layers)
    ignored = list[UntrustedField]()
    for path, value, why in [*loosened_limits(known, tree, default)]:
        tree = without_path(tree, path) if value is None else with_value_at(tree, path, value)
        files = (each.file for each in reversed(layers) if not each.trusted and _has(each.tree, path))
        ignored += (UntrustedField(file=file, field=".".join(path), why=why) for file in [*files][:1])
    found, own = (Config.model_validate(each, by_name=False) for each in (tree, known))  # OpenCode's names alone
    return AppliedTrust(found, own, tuple(ignored))


def find_starts(layer: ConfigLayer, choice: Choice) -> Iterator[TrustItem]:
    """What starts or redirects something, in a file that is not one's own; but for commands, and for what its texts
    read from elsewhere."""
    yield from _find_tables(layer)
    for path, text in iter_texts(split_by_paths(layer.tree, SUPPORTED_FIELDS)[0]):
        elsewhere = (
            path[0] in ("provider", "mcp", *CLIENT_FIELDS) or is_within(path, _TEXTS) or path[2:3] == ("options",)
        )
        if has_reference(text) and not elsewhere and isinstance(value_at(layer.tree, path[:-1]) or {}, dict):
            yield _item(layer, path, text)
    for url in _strings(_table(layer.tree, "skills").get("urls")):
        yield _item(layer, ("skills", "urls", url), url)
    chosen = layer.tree.get("default_agent")
    if "default_agent" in layer.tree and not (isinstance(chosen, str) and choice.allows(chosen)):
        yield _item(layer, ("default_agent",), chosen)


def _find_tables(layer: ConfigLayer) -> Iterator[TrustItem]:
    """What is accepted as a whole."""
    for name, provider in _table(layer.tree, "provider").items():
        if rest := {key: value for key, value in _object(provider).items() if key not in _NARROWING}:
            yield _item(layer, ("provider", name), rest)
    for name, agent in _table(layer.tree, "agent").items():
        if options := _object(agent).get("options"):
            yield _item(layer, ("agent", name, "options"), options)
    for name, server in _table(layer.tree, "mcp").items():
        if server != _OFF:
            yield _item(layer, ("mcp", name), server)


def without_held(layer: ConfigLayer, held: Collection[TrustItem]) -> ConfigLayer:
    """The layer without these, and without what never counts from a project."""
    tree = without_path(layer.tree, ("holdfast",))
    for item in (each for each in held if each.file == layer.file):
        match item.path:
            case ("command", *_):
                continue  # it is looked at where a person types the command
            case ("provider", _):
                provider = _object(value_at(tree, item.path))
                kept: JsonObject = {key: provider[key] for key in _NARROWING if key in provider}
                tree = with_value_at(tree, item.path, kept) if kept else without_path(tree, item.path)
            case ("mcp", _) if _object(value_at(tree, item.path)).get("enabled") is False:
                tree = with_value_at(tree, item.path, _OFF)
            case (*above, url) if isinstance(entries := value_at(tree, tuple(above)), list):
                tree = with_value_at(tree, tuple(above), [each for each in entries if each != url])
            case _:
                tree = without_path(tree, item.path)
    return layer.model_copy(update={"tree": tree})


def with_whole_servers(layers: Sequence[ConfigLayer]) -> tuple[ConfigLayer, ...]:
    """A project's server takes the place of one's own of its name: merged, it would get that one's variables and
    headers."""
    found = [*layers]
    for place, layer in enumerate(layers):
        given = _table(layer.tree, "mcp").items() if not layer.trusted else ()
        for name in (name for name, server in given if server != _OFF):
            found[:place] = [
                each.model_copy(update={"tree": without_path(each.tree, ("mcp", name))}) for each in found[:place]
            ]
    return tuple(found)


def never_counting(layer: ConfigLayer) -> Iterator[UntrustedField]:
    """The fields that no project may set."""
    for name in _table(layer.tree, "holdfast"):
        yield UntrustedField(file=layer.file, field=f"holdfast.{name}", why=_NEVER)


def find_rules(layer: ConfigLayer) -> Iterator[TrustItem]:
    """The layer's rules and limits, each table as a whole: their order counts."""
    agents = _table(layer.tree, "agent")
    for path in (("permission",), *(("agent", name, "permission") for name in agents)):
        if table := value_at(layer.tree, path):
            yield _item(layer, path, table)
    for path in (*(each for each in LIMITS if "*" not in each), *_limits_of(agents)):
        if _has(layer.tree, path):
            yield _item(layer, path, value_at(layer.tree, path))


def own_rules(layers: Sequence[ConfigLayer]) -> JsonValue:
    """The rules in one's own files; variables and options come last, and win anyway."""
    files = (each for each in layers if each.trusted and not each.of_variable)
    return [[[*item.path], item.value] for layer in files for item in find_rules(layer)]


def _check_number(layers: Sequence[ConfigLayer]) -> None:
    """Of the rules that judge one agent's calls."""
    count = Counter[FieldPath]()
    for layer in (each for each in layers if not each.trusted):
        for item in (each for each in find_rules(layer) if each.path[-1] == "permission"):
            values = _object(item.value).values()
            count[item.path] += sum(len(each) if isinstance(each, dict) else 1 for each in values)
        general = count[("permission",)]
        if max((number + general * (len(path) > 1) for path, number in count.items()), default=0) > MAX_RULES:
            raise ConfigError(f"{layer.file}: with it, an agent of this project has more than {MAX_RULES:,} rules.")


def _limits_of(agents: JsonObject) -> Iterator[FieldPath]:
    for name in agents:
        yield from (("agent", name, each[2]) for each in LIMITS if each[:2] == ("agent", "*"))


def _has(tree: JsonObject, path: FieldPath) -> bool:
    return path[-1] in (_object(value_at(tree, path[:-1])) if path[:-1] else tree)


def _table(tree: JsonObject, name: str) -> JsonObject:
    return _object(tree.get(name))


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _strings(value: JsonValue) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _item(layer: ConfigLayer, path: FieldPath, value: JsonValue) -> TrustItem:
    return TrustItem(file=layer.file, path=path, value=value)
