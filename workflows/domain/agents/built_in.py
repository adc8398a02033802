"""The built-in agents, one value each (opencode.md 1.1)."""

from typing import Final

from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.permissions.defaults import ENVIRONMENT_FILE_RULES, EXTERNAL_DIRECTORY_RULES
from workflows.domain.permissions.rules import Action, Rule

BUILD: Final = Agent(
    name="build",
    mode=AgentMode.PRIMARY,
    description="Does the work with all tools, and asks where your rules say so. The default.",
    rules=(
        Rule(permission="question", pattern="*", action=Action.ALLOW),
        Rule(permission="plan_enter", pattern="*", action=Action.ALLOW),
    ),
)
_PLAN_FILES: Final = (".opencode/plan/*.md", ".opencode/plans/*.md", "{data_from_root}/plans/*.md")
_PLAN_EDITS: Final = (  # where all edits are denied, a command that is not known to only read asks
    Rule(permission="edit", pattern="*", action=Action.DENY),
    *(Rule(permission="edit", pattern=pattern, action=Action.ALLOW) for pattern in _PLAN_FILES),
)
PLAN: Final = Agent(
    name="plan",
    mode=AgentMode.PRIMARY,
    description="Explores and plans; changes nothing but the file of its plan.",
    only_plans=True,
    rules=(
        *(Rule(permission=name, pattern="*", action=Action.ALLOW) for name in ("question", "plan_exit")),
        Rule(permission="task", pattern="general", action=Action.DENY),
        Rule(permission="external_directory", pattern="{data}/plans/*", action=Action.ALLOW),
        *_PLAN_EDITS,
    ),
    firm_rules=_PLAN_EDITS,
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
    firm_rules=(Rule(permission="edit", pattern="*", action=Action.DENY),),  # `edit: allow` means agents that work
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
BUILT_IN: Final = {agent.name: agent for agent in (BUILD, EXPLORE, GENERAL, PLAN)}

# Asked only by Holdfast, without tools: they cannot be chosen.
HIDDEN: Final = {agent.name: agent for agent in (COMPACTION, SUMMARY, TITLE)}

RESERVED: Final = frozenset(HIDDEN)


def agent_named(name: str) -> Agent:
    """The built-in agent of this name, else an agent with only a name."""
    return BUILT_IN.get(name, Agent(name=name))
