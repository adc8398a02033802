"""Agents as data: the built-in ones, merged with what the configuration says (opencode.md 1)."""

from collections.abc import Iterator, Mapping
from typing import Final

from workflows.domain.config.config import AgentSettings, Config, Mode
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions.rules import Action, Rule, Ruleset, denies, evaluate
from workflows.domain.value import Value


class Agent(Value):
    """Who works in a turn. `permissions` are the names that its settings in the user's own files speak of, `words` says
    that it has a prompt of its own among ours."""

    name: str
    mode: Mode = Mode.ALL
    description: str | None = None
    model: str | None = None
    steps: int | None = None
    permissions: tuple[str, ...] = ()
    words: bool = False
    hidden: bool = False

    @property
    def selectable(self) -> bool:
        """Whether people may choose it."""
        return self.mode is not Mode.SUBAGENT

    def configured(self, settings: AgentSettings, own: AgentSettings) -> "Agent":
        """This agent with what the configuration says about it, `own` of it in the user's own files."""
        said = settings.model_dump(include={"mode", "hidden", "description", "model", "steps"}, exclude_none=True)
        named = (*self.permissions, *own.permission)
        return self.model_copy(update={**said, "permissions": tuple(dict.fromkeys(named))})


BUILD: Final = Agent(name="build", mode=Mode.PRIMARY)
BUILT_IN: Final = (
    BUILD,
    Agent(
        name="explore",
        mode=Mode.SUBAGENT,
        description=(
            "Finds its way through a code base and changes nothing: files by name, places by content, how things hang "
            'together. Say how thorough it has to be: "quick", "medium" or "very thorough".'
        ),
        words=True,
    ),
    Agent(
        name="general",
        mode=Mode.SUBAGENT,
        description="Works through a task of several steps by itself, and may change files; for work side by side.",
        permissions=("todowrite",),
    ),
)


# Built-in agents of OpenCode that are not built yet. Under one of these names there is no agent: settings for it were
# written for a narrower one than an agent of one's own is.
RESERVED: Final = frozenset({"compaction", "plan", "summary", "title"})


class Delegation(Value):
    """To whom a turn may hand work: the agents of its directory, how many sessions stand above its own, and how many
    of them there may be."""

    agents: tuple[Agent, ...] = ()
    ancestors: int = 0
    limit: int = 1

    @property
    def too_deep(self) -> bool:
        return self.ancestors >= self.limit

    def agent(self, name: str) -> Agent | None:
        return next((agent for agent in self.agents if agent.name == name), None)

    def offered(self, rules: Ruleset) -> list[Agent]:
        """Those that a model is told of under these rules (opencode.md 8)."""
        willing = (agent for agent in self.agents if agent.mode is not Mode.PRIMARY)
        return [agent for agent in willing if evaluate("task", agent.name, rules).action is not Action.DENY]


def agents(config: Config, own: Config | None = None) -> Mapping[str, Agent]:
    """All agents that there are under a configuration, by name, in the order of their names; none has a reserved name.

    `own` is what the user's own files say of it (None: all): no project says what frees a subagent of a bound.
    """
    known, plain = {agent.name: agent for agent in BUILT_IN}, AgentSettings()
    trusted = config if own is None else own
    found = {
        name: known.get(name, Agent(name=name)).configured(
            config.agent.get(name, plain), trusted.agent.get(name, plain)
        )
        for name in sorted({*known, *config.agent} - RESERVED)
    }
    return {name: agent for name, agent in found.items() if not _disabled(config, name)}


def chosen(name: str, known: Mapping[str, Agent]) -> Agent:
    """The agent that a person names. Raises UnknownAgent, also for a subagent and for a reserved name."""
    agent = known.get(name)
    if agent is not None and agent.selectable:
        return agent
    named = name in known or name in RESERVED
    problem = f"The agent {name!r} {_why_not(name, known)}." if named else f"Agent not found: {name!r}."
    raise UnknownAgent(problem, _visible(known))


def default_agent(config: Config, known: Mapping[str, Agent]) -> Agent:
    """Who works where nobody is named: `default_agent`, else `build`, else the first that people see (opencode.md 1.2).

    Raises UnknownAgent.
    """
    visible, named = _visible(known), config.default_agent
    if named is None:
        if not visible:
            raise UnknownAgent("No agent can work here: no primary visible agent found.", ())
        return known[BUILD.name if BUILD.name in visible else visible[0]]
    if named not in visible:
        raise UnknownAgent(f'The configured default agent "{named}" {_why_not(named, known)}.', visible)
    return known[named]


def bounds(agent: Agent, parent: Ruleset) -> Ruleset:
    """The rules that a subagent's session has besides its agent's: whatever its parent is denied, and neither task
    list nor subagents of its own where its agent's settings do not speak of them (opencode.md 8)."""
    return (*_unless_named(agent), *denies(parent))


def _unless_named(agent: Agent) -> Iterator[Rule]:
    for permission in ("todowrite", "task"):
        if permission not in agent.permissions:
            yield Rule(permission=permission, pattern="*", action=Action.DENY)


def _visible(known: Mapping[str, Agent]) -> list[str]:
    return [name for name, agent in known.items() if agent.selectable and not agent.hidden]


def _why_not(name: str, known: Mapping[str, Agent]) -> str:
    """Why an agent is not one that people see, in OpenCode's words where it has some (opencode.md 1.2)."""
    if name in known:
        return "is hidden" if known[name].selectable else "is a subagent: it works for other agents only"
    return "is not supported yet" if name in RESERVED else "not found"


def _disabled(config: Config, name: str) -> bool:
    return name in config.agent and config.agent[name].disable
