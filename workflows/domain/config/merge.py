"""Merging of configuration files (opencode.md 14.2)."""

from collections.abc import Iterable
from functools import reduce

from pydantic import JsonValue

from workflows.domain.config.fields import JsonObject
from workflows.domain.permissions.permission_keys import current_key
from workflows.domain.value import Value


class ConfigLayer(Value):
    """A configuration file, or a variable that holds one. `trusted`: the user's own, or the administrator's
    (`managed`). `duplicate_keys`: with the second's line."""

    file: str
    trusted: bool
    tree: JsonObject
    managed: bool = False
    duplicate_keys: tuple[tuple[str, int], ...] = ()


def merge_files(trees: Iterable[JsonObject]) -> JsonObject:
    """Later over earlier; `instructions` are joined."""
    return reduce(_merge_two, trees, {})


def deep_merge(base: JsonObject, later: JsonObject) -> JsonObject:
    """Objects merge, arrays are replaced, keys keep their position in `base`."""
    result = dict(base)
    for key, value in later.items():
        before = result.get(key)
        result[key] = deep_merge(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result


def normalize_permissions(tree: JsonObject) -> JsonObject:
    """Replaces older forms (a single word, the map `tools`)."""
    result = _with_permission(tree)
    agents = result.get("agent")
    if isinstance(agents, dict):
        modernised = {
            name: _with_permission(agent) if isinstance(agent, dict) else agent for name, agent in agents.items()
        }
        result["agent"] = modernised
    return result


def normalize_field_names(tree: JsonObject) -> JsonObject:
    """Takes the newer of two names, so that a later file wins under either."""
    agents = tree.get("agent")
    if not isinstance(agents, dict):
        return tree
    return {**tree, "agent": {name: _with_steps(agent) for name, agent in agents.items()}}


def _with_steps(agent: JsonValue) -> JsonValue:
    if not isinstance(agent, dict) or "maxSteps" not in agent:
        return agent
    rest = {key: value for key, value in agent.items() if key != "maxSteps"}
    return {"steps": agent["maxSteps"], **rest}


def _merge_two(base: JsonObject, later: JsonObject) -> JsonObject:
    result = deep_merge(base, later)
    before, after = base.get("instructions"), later.get("instructions")
    if isinstance(before, list) and isinstance(after, list):
        result["instructions"] = before + [entry for entry in after if entry not in before]
    return result


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
