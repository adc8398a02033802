"""The built-in agents, one value each (opencode.md 1.1)."""

from typing import Final

from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.permissions.defaults import ENVIRONMENT_FILE_RULES, EXTERNAL_DIRECTORY_RULES
from workflows.domain.permissions.rules import Action, Rule

BUILD: Final = Agent(
    name="build",
    mode=AgentMode.PRIMARY,
    rules=(
        Rule(permission="question", pattern="*", action=Action.ALLOW),
        Rule(permission="plan_enter", pattern="*", action=Action.ALLOW),
    ),
)
EXPLORE: Final = Agent(
    name="explore",
    mode=AgentMode.SUBAGENT,
    description=(
        "Finds its way through a code base and changes nothing: files by name, places by content, how things hang "
        'together. Say how thorough it has to be: "quick", "medium" or "very thorough".'
    ),
    prompt_file="explore",
    rules=(
        Rule(permission="*", pattern="*", action=Action.DENY),
        *(
            Rule(permission=permission, pattern="*", action=Action.ALLOW)
            for permission in ("grep", "glob", "list", "bash", "webfetch", "websearch", "read")
        ),
        *EXTERNAL_DIRECTORY_RULES,
        *ENVIRONMENT_FILE_RULES,  # again: its allow of `read` would include files of secrets
    ),
)
GENERAL: Final = Agent(
    name="general",
    mode=AgentMode.SUBAGENT,
    description="Works through a task of several steps by itself, and may change files; for work side by side.",
    rules=(Rule(permission="todowrite", pattern="*", action=Action.DENY),),
)
COMPACTION: Final = Agent(name="compaction", mode=AgentMode.PRIMARY, hidden=True, prompt_file="compaction")
TITLE: Final = Agent(name="title", mode=AgentMode.PRIMARY, hidden=True, prompt_file="title", temperature=0.5)
SUMMARY: Final = Agent(name="summary", mode=AgentMode.PRIMARY, hidden=True, prompt_file="summary")
BUILT_IN: Final = {agent.name: agent for agent in (BUILD, EXPLORE, GENERAL)}

# Asked by Holdfast alone, without tools: nobody can choose them.
HIDDEN: Final = {agent.name: agent for agent in (COMPACTION, SUMMARY, TITLE)}

# Agents of OpenCode that are not built yet. No configuration may define such a name: its settings were written for a
# narrower agent than a new one is.
NOT_BUILT: Final = frozenset({"plan"})
RESERVED: Final = NOT_BUILT | HIDDEN.keys()


def agent_named(name: str) -> Agent:
    """The built-in agent of this name, else an agent with only a name."""
    return BUILT_IN.get(name, Agent(name=name))
