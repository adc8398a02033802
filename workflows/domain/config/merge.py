"""Merging of configuration files (opencode.md 14.2)."""

from collections.abc import Iterable
from functools import reduce
from typing import Final

from pydantic import JsonValue

from workflows.domain.agents.agent import AgentMode, RefusedAgent
from workflows.domain.config.agent_forms import normalize_agent
from workflows.domain.config.fields import AGENT_FIELDS, OPTION_FIELDS, FieldPath, JsonObject, field_paths, is_within
from workflows.domain.permissions.permission_keys import current_key
from workflows.domain.value import Value

# Later files add to the first and take away from the second: a project's could lift a limit otherwise.
JOINED_LISTS: Final = field_paths(
    "instructions skills.paths skills.urls experimental.primary_tools disabled_providers provider.*.blacklist"
)
_NARROWED_LISTS: Final = field_paths("enabled_providers provider.*.whitelist")


class ConfigLayer(Value):
    """A configuration file, a variable that holds one, or an agent's `markdown` file; one that is `refused` has no
    fields. `trusted`: the user's own, or the administrator's (`managed`). `duplicate_keys`: their paths. `ineffective`:
    what of its agents has no effect, in words."""

    file: str
    trusted: bool
    tree: JsonObject
    managed: bool = False
    markdown: bool = False
    refused: RefusedAgent | None = None
    duplicate_keys: tuple[str, ...] = ()
    ineffective: tuple[str, ...] = ()

    @property
    def is_of_project(self) -> bool:
        """Whether it is a project's, not the user's own or an organisation's."""
        return not self.trusted and is_local(self.file)

    @property
    def of_variable(self) -> bool:
        return self.file.startswith("OPENCODE_")


def is_local(file: str) -> bool:
    """Whether it is a file here; an organisation's is named by its address."""
    return "://" not in file


def merge_files(trees: Iterable[JsonObject]) -> JsonObject:
    """Merge files, later over earlier; some lists are joined, others narrowed."""
    return reduce(_merge_two, trees, {})


def deep_merge(base: JsonObject, later: JsonObject) -> JsonObject:
    """Objects merge, arrays are replaced, keys keep their position in `base`."""
    result = dict(base)
    for key, value in later.items():
        before = result.get(key)
        result[key] = deep_merge(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result


def normalize_permissions(tree: JsonObject) -> JsonObject:
    """Replaces older forms (a single word, the map `tools`), and those of other programs' agents."""
    result = _with_permission(tree)
    for table in ("agent", "mode"):
        if isinstance(agents := result.get(table), dict):
            result[table] = {
                name: _with_permission(normalize_agent(agent)) if isinstance(agent, dict) else agent
                for name, agent in agents.items()
            }
    return result


def normalize_field_names(tree: JsonObject) -> JsonObject:
    """Takes the newer of two names, so that a later file wins under either, moves what is an option of providers into
    an agent's options, and drops its unknown fields."""
    agents, modes = tree.get("agent", {}), tree.get("mode", {})
    if not isinstance(agents, dict) or not isinstance(modes, dict) or not (agents or modes):
        return tree
    older: JsonObject = {
        name: {**mode, "mode": AgentMode.PRIMARY.value} for name, mode in modes.items() if isinstance(mode, dict)
    }
    found = {name: _with_known_fields(agent) for name, agent in deep_merge(agents, older).items()}
    return {**{key: value for key, value in tree.items() if key != "mode"}, "agent": found}


def _with_known_fields(agent: JsonValue) -> JsonValue:
    if not isinstance(agent, dict):
        return agent
    known = {key: value for key, value in agent.items() if key in AGENT_FIELDS and key not in ("maxSteps", "options")}
    options = agent.get("options")
    more = {key: value for key, value in agent.items() if key in OPTION_FIELDS}
    if "maxSteps" in agent:
        known = {"steps": agent["maxSteps"], **known}
    return known | ({"options": {**(options if isinstance(options, dict) else {}), **more}} if options or more else {})


def _merge_two(base: JsonObject, later: JsonObject, at: FieldPath = ()) -> JsonObject:
    result = dict(base)
    for key, value in later.items():
        path, before = (*at, key), result.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            result[key] = _merge_two(before, value, path)
        elif isinstance(before, list):
            result[key] = _merge_lists(before, value, path)
        else:
            result[key] = value
    return result


def _merge_lists(before: list[JsonValue], later: JsonValue, path: FieldPath) -> JsonValue:
    if is_within(path, _NARROWED_LISTS):
        return [entry for entry in before if entry in later] if isinstance(later, list) else before
    if isinstance(later, list) and is_within(path, JOINED_LISTS):
        return before + [entry for entry in later if entry not in before]
    return later


def _with_permission(tree: JsonObject) -> JsonObject:
    own, tools = tree.get("permission"), tree.get("tools")
    if isinstance(own, str):
        own = {"*": own}
    if isinstance(tools, dict) and isinstance(own, (dict, type(None))):
        own = deep_merge(_from_tools(tools), own or {})
    return dict(tree) if own is None else {**tree, "permission": own}


def _from_tools(tools: JsonObject) -> JsonObject:
    rules: dict[str, JsonValue] = {}
    for name, offered in tools.items():
        rules[current_key(name)] = "allow" if offered else "deny"
    return rules
