"""What a new session is begun with, read where a person starts it."""

from collections.abc import Mapping
from pathlib import Path

from activities.store import hosts
from activities.store.database import Database
from activities.store.sessions import SessionTemplate
from worker import machine_id
from worker.agent_check import check_subagents
from worker.project_config import Role, effective_model, load_project_config, sources_of
from worker.settings import Settings
from workflows.domain import titles
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.prompt import Prompt


async def prepare_template(
    settings: Settings,
    database: Database,
    directory: str,
    message: Prompt,
    title: str | None,
    environment: Mapping[str, str] | None,
    sources: ConfigSources | None,
    turn_config: TurnConfig | None,
) -> SessionTemplate:
    """Raises UsageError as `SessionClient.start`."""
    sources, role = sources or sources_of(settings), Role(message.agent)
    turn_config = turn_config or await load_project_config(settings, Path(directory), role, sources, database=database)
    effective_model(turn_config, message.model)  # raises if it cannot be asked
    check_subagents(message, turn_config)
    if settings.host is not None and settings.worker:
        await hosts.check_not_taken(database, settings.host, machine_id.existing_machine_id(settings.home))
    return SessionTemplate(
        directory=directory,
        worktree=turn_config.worktree or directory,
        vcs="git" if turn_config.worktree else None,
        given_title=titles.given_title(title),
        agent=turn_config.agent.name,
        model=message.model,
        variant=message.variant,
        environment=dict(environment or {}),
        sources=sources,
    )
