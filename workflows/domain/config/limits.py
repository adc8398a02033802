"""Limits of the user's own configuration: of these and a project's, the tighter ones count."""

import math
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from workflows.domain.agents.agent import AgentMode
from workflows.domain.agents.built_in import BUILT_IN, HIDDEN, agent_named
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import FieldPath, JsonObject, field_paths, value_at
from workflows.domain.context.truncate import OutputLimits

LIMITS: Final = field_paths(
    "agent.*.disable agent.*.hidden agent.*.mode agent.*.steps experimental.continue_loop_on_deny subagent_depth "
    "tool_output.max_bytes tool_output.max_lines"
)
_REASONS: Final = {
    "disable": "an agent that your own configuration has disabled comes back by it only",
    "hidden": "an agent that your own configuration hides is shown by it only",
    "mode": "who else gives work to this agent is for your own configuration to say",
    "steps": "a limit of steps is raised, or taken away, by your own configuration only",
    "max_lines": "more of a tool's output goes to the model by your own configuration only",
    "max_bytes": "more of a tool's output goes to the model by your own configuration only",
    "continue_loop_on_deny": "a turn goes on after a rejection where your own configuration says so only",
    "subagent_depth": "how deep subagents may go is for your own configuration to say",
}
_USUAL_OUTPUT: Final = OutputLimits()
_FOR_PEOPLE: Final = (AgentMode.PRIMARY, AgentMode.ALL)
_FOR_AGENTS: Final = (AgentMode.SUBAGENT, AgentMode.ALL)

Extent = tuple[float, ...]  # how much is possible, in each respect


def loosened_limits(own: JsonObject, merged: JsonObject, default: str) -> Iterator[tuple[FieldPath, JsonValue, str]]:
    """The limits that `merged` files raise above one's own, each with one's own value (None: the default), and why that
    counts. An agent that one's own files do not have is held to the steps of the `default` one."""
    agents, others = (tree["agent"] if isinstance(tree.get("agent"), dict) else {} for tree in (own, merged))
    assert isinstance(agents, dict) and isinstance(others, dict)
    usual = agents.get(default)
    steps = usual.get("steps") if isinstance(usual, dict) else None
    unknown: JsonObject = {
        name: {"steps": steps} for name in others.keys() - agents.keys() - BUILT_IN.keys() if steps is not None
    }
    known: JsonObject = {key: own[key] for key in ("experimental", "tool_output", "subagent_depth") if key in own}
    known["agent"] = {**agents, **unknown}
    limits = dict(_extents(Config.model_validate(known)))
    for path, extent in _extents(Config.model_validate(merged)):
        if any(new > old for new, old in zip(extent, limits.get(path, extent), strict=True)):
            yield path, value_at(known, path), _REASONS[path[-1]]


def _extents(config: Config) -> Iterator[tuple[FieldPath, Extent]]:
    yield ("subagent_depth",), (config.subagent_depth,)
    yield ("experimental", "continue_loop_on_deny"), (config.experimental.continue_loop_on_deny,)
    yield ("tool_output", "max_lines"), (config.tool_output.max_lines or _USUAL_OUTPUT.max_lines,)
    yield ("tool_output", "max_bytes"), (config.tool_output.max_bytes or _USUAL_OUTPUT.max_bytes,)
    for name in BUILT_IN.keys() | HIDDEN.keys() | config.agent.keys():
        agent = config.agent.get(name, AgentSettings())
        mode = agent.mode or agent_named(name).mode
        yield ("agent", name, "disable"), (not agent.disable,)
        yield ("agent", name, "hidden"), (not agent.hidden,)
        yield ("agent", name, "mode"), (mode in _FOR_PEOPLE, mode in _FOR_AGENTS)
        yield ("agent", name, "steps"), (agent.steps or math.inf,)
