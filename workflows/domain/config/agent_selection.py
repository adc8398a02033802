"""A configuration's agents (opencode.md 1.2)."""

from collections.abc import Iterable, Mapping

from workflows.domain.agents.agent import Agent, RefusedAgent
from workflows.domain.agents.built_in import BUILD, BUILT_IN, HIDDEN, RESERVED, agent_named
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.errors import UnknownAgent


def available_agents(
    config: Config, own: Config | None = None, refused: Iterable[RefusedAgent] = ()
) -> Mapping[str, Agent]:
    """The agents by name, without reserved and `refused` names. `own`: the configuration of the user's own files (None:
    all of it), which alone may lift a subagent's bounds."""
    trusted, plain = config if own is None else own, AgentSettings()
    unusable = RESERVED.union(*(each.names for each in refused))
    return {
        name: _with_settings(agent_named(name), config.agent.get(name, plain), trusted.agent.get(name, plain))
        for name in sorted({*BUILT_IN, *config.agent} - unusable)
        if not config.agent.get(name, plain).disable
    }


def hidden_agent(agent: Agent, config: Config) -> Agent:
    """An agent that only Holdfast uses, with its settings."""
    return _with_settings(agent, config.agent.get(agent.name, AgentSettings()), AgentSettings())


def is_disabled(agent: Agent, config: Config) -> bool:
    return config.agent.get(agent.name, AgentSettings()).disable


def select_agent(name: str, known: Mapping[str, Agent]) -> Agent:
    """Raises UnknownAgent, also for subagents and reserved names."""
    agent = known.get(name)
    if agent is not None and agent.selectable:
        return agent
    named = name in known or name in RESERVED
    problem = f"The agent {name!r} {_why_unavailable(name, known)}." if named else f"Agent not found: {name!r}."
    raise UnknownAgent(problem, visible_names(known))


def check_readable(name: str, refused: Iterable[RefusedAgent], known: Mapping[str, Agent]) -> None:
    """Raises UnknownAgent for an agent whose file cannot be used."""
    for each in refused:
        if name in each.names:
            raise UnknownAgent(f"The agent {name!r} cannot be used ({each.why.rstrip('.')}).", visible_names(known))


def default_agent(config: Config, known: Mapping[str, Agent], file: str | None = None) -> Agent:
    """For a session that names none: `default_agent`, which `file` has, else `build`, else the first visible one.
    Raises UnknownAgent."""
    visible, named = visible_names(known), config.default_agent
    if named is None:
        if not visible:
            raise UnknownAgent("No agent can work here: no primary visible agent found.", ())
        return known[BUILD.name if BUILD.name in visible else visible[0]]
    if named not in visible:
        where = f"{file}: the" if file else "The"
        raise UnknownAgent(f'{where} configured default agent "{named}" {_why_unavailable(named, known)}.', visible)
    return known[named]


def _with_settings(agent: Agent, settings: AgentSettings, own: AgentSettings) -> Agent:
    """`own`: from the user's own files."""
    given = settings.model_dump(
        include={
            *("mode", "hidden", "description", "color", "prompt", "steps"),
            *("model", "variant", "temperature", "top_p", "options"),
        },
        exclude_none=True,
    )
    named = (*agent.named_permissions, *own.permission)
    return agent.model_copy(
        update={**given, "display_name": settings.name, "named_permissions": tuple(dict.fromkeys(named))}
    )


def visible_names(known: Mapping[str, Agent]) -> list[str]:
    """The names of agents that people may choose and see."""
    return [name for name, agent in known.items() if agent.selectable and not agent.hidden]


def _why_unavailable(name: str, known: Mapping[str, Agent]) -> str:
    if name in known:
        return "is hidden" if known[name].selectable else "is a subagent: it works for other agents only"
    return "is hidden" if name in HIDDEN else "not found"
