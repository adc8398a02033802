"""How configuration files become one (opencode.md 14.2)."""

from collections.abc import Iterable
from functools import reduce

from pydantic import JsonValue

from workflows.domain.config.fields import JsonObject
from workflows.domain.permissions.rules import EDITING
from workflows.domain.value import Value


class Layer(Value):
    """One configuration file, or a variable that holds one, in its place in the order of precedence.

    `trusted` when it is the user's own, or the administrator's, who has `managed` it. `doubled` are the keys that stand
    twice in one of its objects, each with the line of the second.
    """

    file: str
    trusted: bool
    tree: JsonObject
    managed: bool = False
    doubled: tuple[tuple[str, int], ...] = ()


def merged(trees: Iterable[JsonObject]) -> JsonObject:
    """All files as one, the later over the earlier; `instructions` are joined instead of replaced."""
    return reduce(_joined, trees, {})


def over(base: JsonObject, later: JsonObject) -> JsonObject:
    """`later` over `base`: objects deeply, arrays replaced; a key keeps the place that it has in `base`."""
    result = dict(base)
    for key, value in later.items():
        before = result.get(key)
        result[key] = over(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result


def modern(tree: JsonObject) -> JsonObject:
    """`tree` with older forms of permissions written as today's: a single word, and the map `tools`."""
    result = _with_permission(tree)
    agents = result.get("agent")
    if isinstance(agents, dict):
        modernised = {
            name: _with_permission(agent) if isinstance(agent, dict) else agent for name, agent in agents.items()
        }
        result["agent"] = modernised
    return result


def newest(tree: JsonObject) -> JsonObject:
    """`tree` with the newer name of each field that has two, so that a later file wins by either."""
    agents = tree.get("agent")
    if not isinstance(agents, dict):
        return tree
    return {**tree, "agent": {name: _with_steps(agent) for name, agent in agents.items()}}


def _with_steps(agent: JsonValue) -> JsonValue:
    if not isinstance(agent, dict) or "maxSteps" not in agent:
        return agent
    rest = {key: value for key, value in agent.items() if key != "maxSteps"}
    return {"steps": agent["maxSteps"], **rest}


def _joined(base: JsonObject, later: JsonObject) -> JsonObject:
    result = over(base, later)
    before, after = base.get("instructions"), later.get("instructions")
    if isinstance(before, list) and isinstance(after, list):
        result["instructions"] = before + [entry for entry in after if entry not in before]
    return result


def _with_permission(tree: JsonObject) -> JsonObject:
    own, tools = tree.get("permission"), tree.get("tools")
    if isinstance(own, str):
        own = {"*": own}
    if isinstance(tools, dict) and isinstance(own, (dict, type(None))):
        own = over(_from_tools(tools), own or {})
    return dict(tree) if own is None else {**tree, "permission": own}


def _from_tools(tools: JsonObject) -> JsonObject:
    rules: dict[str, JsonValue] = {}
    for name, offered in tools.items():
        rules["edit" if name in EDITING else name] = "allow" if offered else "deny"
    return rules
