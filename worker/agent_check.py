"""Checks the agents that a prompt names."""

from pathlib import Path

from activities.store import sessions
from activities.store.database import Database
from worker.project_config import Role, load_project_config
from worker.settings import Settings
from workflows.domain.agents.agent import AgentMode
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt


async def check_agents(
    settings: Settings,
    database: Database,
    session: SessionId,
    prompt: Prompt,
    sources: ConfigSources | None,
    turn_config: TurnConfig | None,
) -> None:
    """Raises UsageError for agents that cannot work in the session; on another host, turn or call fails."""
    origin = await sessions.origin(database, session)
    agent = prompt.agent or origin.agent
    if origin.ancestors and agent != origin.agent:
        raise UsageError(f"Session {session!r} is a subagent's: it works as {origin.agent!r} only.")
    if origin.host != settings.host:
        return
    if turn_config is None or turn_config.agent.name != agent:
        role = Role(agent, origin.rules, origin.ancestors)
        known, directory = sources or origin.sources, Path(origin.directory)
        turn_config = await load_project_config(settings, directory, role, known, database=database)
    check_subagents(prompt, turn_config)


def check_subagents(prompt: Prompt, turn_config: TurnConfig) -> None:
    """Raises UsageError for one that no subagent can do in such a turn."""
    delegation = turn_config.delegation
    known = [agent.name for agent in delegation.agents if agent.mode is not AgentMode.PRIMARY]
    every = [agent.name for agent in delegation.agents]
    commanded = {part.agent for part in prompt.subtasks.values() if part.command}  # may be for any agent
    for agent in prompt.subagents:
        if delegation.too_deep:
            raise UsageError(
                f"No subagent can work for this session: `subagent_depth` in the configuration is {delegation.limit}."
            )
        if agent not in (every if agent in commanded else known):
            raise UsageError(f"There is no subagent {agent!r}. Subagents here: {', '.join(known)}.")
