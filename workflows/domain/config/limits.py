"""Limits of the user's own configuration: a project's file may only tighten them."""

import math
from collections.abc import Iterator
from typing import Final

from workflows.domain.agents.agent import AgentMode
from workflows.domain.agents.built_in import BUILT_IN, HIDDEN, agent_named
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import FieldPath, JsonObject
from workflows.domain.config.merge import deep_merge
from workflows.domain.context.truncate import OutputLimits

_REASONS: Final = {
    "disable": "an agent that your own configuration has disabled comes back by it only",
    "hidden": "an agent that your own configuration hides is shown by it only",
    "mode": "who else gives work to this agent is for your own configuration to say",
    "steps": "a limit of steps is raised, or taken away, by your own configuration only",
    "max_lines": "more of a tool's output goes to the model by your own configuration only",
    "max_bytes": "more of a tool's output goes to the model by your own configuration only",
    "continue_loop_on_deny": "a turn goes on after a rejection where your own configuration says so only",
}
_USUAL_OUTPUT: Final = OutputLimits()
_FOR_PEOPLE: Final = (AgentMode.PRIMARY, AgentMode.ALL)
_FOR_AGENTS: Final = (AgentMode.SUBAGENT, AgentMode.ALL)

Extent = tuple[float, ...]  # how much is possible, in each respect


def loosened_limits(own: JsonObject, project: JsonObject) -> Iterator[tuple[FieldPath, str]]:
    """Fields of a project's file that would allow more than the user's own files, and why they are ignored. The merged
    results are compared, so `null`, which resets a value, is no special case."""
    agents, named = own.get("agent"), project.get("agent")
    known = named.keys() & agents.keys() if isinstance(agents, dict) and isinstance(named, dict) else ()
    before: JsonObject = {key: own[key] for key in ("experimental", "tool_output") if key in own}
    before["agent"] = {name: agents[name] for name in known} if isinstance(agents, dict) else {}
    limits = dict(_extents(Config.model_validate(before)))
    for path, extent in _extents(Config.model_validate(deep_merge(before, project))):
        if any(new > old for new, old in zip(extent, limits.get(path, extent), strict=True)):
            yield path, _REASONS[path[-1]]


def _extents(config: Config) -> Iterator[tuple[FieldPath, Extent]]:
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
