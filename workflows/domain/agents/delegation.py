"""Delegation: the agents that a turn may hand work to, and their rules (opencode.md 8)."""

from collections.abc import Iterable

from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.rules import Action, Rule, Ruleset
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.value import Value


class Delegation(Value):
    """The agents of a turn's directory, how many sessions are above its own, and the limit."""

    agents: tuple[Agent, ...] = ()
    ancestors: int = 0
    limit: int = 1

    @property
    def too_deep(self) -> bool:
        return self.ancestors >= self.limit

    @property
    def visible_names(self) -> tuple[str, ...]:
        """The names of those that people may choose and see."""
        return tuple(agent.name for agent in self.agents if agent.selectable and not agent.hidden)

    def agent(self, name: str) -> Agent | None:
        return next((agent for agent in self.agents if agent.name == name), None)

    def open_to(self, name: str) -> "Delegation":
        """The same with agent `name` as a subagent: a person may give it work even if it works for people only."""
        opened = {"mode": AgentMode.ALL}
        agents = (each.model_copy(update=opened) if each.name == name else each for each in self.agents)
        return self.model_copy(update={"agents": tuple(agents)})

    def offered_agents(self, rules: Rulesets) -> list[Agent]:
        willing = (agent for agent in self.agents if agent.mode is not AgentMode.PRIMARY)
        return [agent for agent in willing if rules.action(permission_keys.TASK, agent.name) is not Action.DENY]


def subagent_rules(agent: Agent, parent: Rulesets, primary_tools: Iterable[str] = ()) -> Ruleset:
    """A subagent's rules: its parent's denials, and denials of `primary_tools`, and of task list and subagents unless
    its agent names those permissions."""
    bounded = (permission_keys.TODOWRITE, permission_keys.TASK)
    return (
        *(_denial(permission) for permission in bounded if not agent.names_permission(permission)),
        *parent.denials(),
        *(_denial(permission_keys.current_key(name)) for name in primary_tools),
    )


def _denial(permission: str) -> Rule:
    return Rule(permission=permission, pattern="*", action=Action.DENY)
