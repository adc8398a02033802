"""An agent's rules, from a configuration."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from activities.files.workspace import Workspace
from workflows.domain.agents.built_in import agent_named
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.loosening import loosens
from workflows.domain.permissions import defaults, rules
from workflows.domain.permissions.rules import Rule, Ruleset


class Powers(NamedTuple):
    """What an agent may do. `steps`: in a turn; None: any number."""

    rules: Ruleset
    steps: int | None

    def exceed(self, own: "Powers", workspace: Workspace) -> bool:
        """Plans lie outside of the project, and are no more than the work of `plan`."""
        if (self.steps or math.inf) > (own.steps or math.inf):
            return True
        plans = f"{workspace.data}/plans/*"
        return loosens(own.rules, tuple(rule for rule in self.rules if rule.pattern != plans))


def rules_of(agent: str, config: Config, workspace: Workspace, of_skills: Iterable[Rule] = ()) -> Ruleset:
    """An agent's rules: built-in, the user's, its own (opencode.md 2.1). `of_skills`: of the folders of skills."""
    own = configured_rules(agent, config, workspace, agent_named(agent).firm_rules)
    return defaults.agent_rules(
        (*of_skills, *agent_named(agent).rules),
        own,
        data=workspace.data,
        data_from_root=workspace.relative(workspace.data),
        temporary=workspace.temporary,
    )


def configured_rules(agent: str, config: Config, workspace: Workspace, firm: Ruleset = ()) -> Ruleset:
    home = str(workspace.home)
    own = config.agent.get(agent, AgentSettings())
    return (*rules.from_config(config.permission, home), *firm, *rules.from_config(own.permission, home))
