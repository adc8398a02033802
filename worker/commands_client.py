"""Prompts of slash commands, for doors."""

from pathlib import Path

from activities.project.command_loader import FoundCommands
from activities.store import sessions
from worker.client_part import ClientPart
from worker.command_prompts import expand_command
from worker.project_config import Role, load_commands, load_project_config
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt


class CommandsClient(ClientPart):
    """Reads a directory's commands where a person types one; the prompt holds what it becomes."""

    async def of_directory(self, directory: str, name: str, arguments: str = "", given: Prompt | None = None) -> Prompt:
        """For `start`. `given`: what the prompt has besides: files, agent, model and others. Raises UsageError."""
        agent = given.agent if given is not None else None
        turn_config = await load_project_config(self.settings, Path(directory), Role(agent), database=self.database)
        return await expand_command(self.settings, turn_config, name, arguments, given)

    async def of_session(
        self,
        session: SessionId,
        name: str,
        arguments: str = "",
        given: Prompt | None = None,
        sources: ConfigSources | None = None,
    ) -> Prompt:
        """For `prompt`. Raises UsageError, NotFound."""
        turn_config, known = await self._config(session, given.agent if given is not None else None, sources)
        model = (await sessions.origin(self.database, session)).model
        return await expand_command(self.settings, turn_config, name, arguments, given, known, session_model=model)

    async def list(self, session: SessionId) -> FoundCommands:
        """Raises UsageError, NotFound."""
        turn_config, known = await self._config(session, None, None)
        return await load_commands(self.settings, turn_config, known)

    async def _config(
        self, session: SessionId, agent: str | None, sources: ConfigSources | None
    ) -> tuple[TurnConfig, ConfigSources | None]:
        origin = await sessions.origin(self.database, session)
        if origin.host != self.settings.host:
            raise UsageError(f"The session's files and commands are on host {origin.host!r}: type it there.")
        known = sources or origin.sources
        role = Role(agent or origin.agent, origin.rules, origin.ancestors)
        directory = Path(origin.directory)
        return await load_project_config(self.settings, directory, role, known, database=self.database), known
