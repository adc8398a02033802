"""An agent's rules, from a configuration."""

from collections.abc import Iterable

from activities.files.workspace import Workspace
from workflows.domain.agents.built_in import agent_named
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.permissions import defaults, rules
from workflows.domain.permissions.rules import Rule, Ruleset


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
