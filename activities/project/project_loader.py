"""Loads a directory's configuration, the same for clients and turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from activities.files.workspace import Workspace
from activities.own_thread import read_in_time
from activities.project import config_loader, worktree
from activities.project.checked_config import CheckedConfig
from activities.project.config_loader import PRIMARY_ROLE, FindAccepted, LoadedConfig, Role
from activities.project.config_references import resolve
from activities.project.config_rules import rules_of
from activities.project.organisations import parse_organisation
from activities.turn_context import TurnContext
from workflows.domain.agents.built_in import BUILD
from workflows.domain.config.config import Config
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.skills import Skill

if TYPE_CHECKING:
    from activities.project.command_loader import FoundCommands


@dataclass(frozen=True)
class DirectoryConfig:
    """The model that the configuration names, and why no turn can run, if so."""

    turn_config: TurnConfig
    model: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class ProjectLoader:
    """`temporary`: the system's directory; `managed`: the administrator's configuration folder. `environ` resolves
    references. `default_sources`: for sessions without recorded ones. `fetches`: as a worker's does, renew the copies
    of what is on the net."""

    data: Path
    temporary: Path
    managed: Path
    environ: Mapping[str, str]
    default_sources: ConfigSources
    fetches: bool = False

    def workspace(self, directory: str, home: str | None = None) -> Workspace:
        """`home`: of the person who started the session, by default the worker's own."""
        return worktree.find_workspace(
            Path(directory), data=self.data, home=Path(home or self.default_sources.home), temporary=self.temporary
        )

    def turn_context(self, turn_config: TurnConfig) -> TurnContext:
        return TurnContext.from_config(self.turn_workspace(turn_config), turn_config)

    def turn_workspace(self, turn_config: TurnConfig) -> Workspace:
        """As the turn has found it: its file system is not asked again, which may not answer, or have a link there."""
        worktree, home = turn_config.worktree, turn_config.home or self.default_sources.home
        data, temporary = self._own_folders
        return Workspace(
            directory=Path(turn_config.directory),
            worktree=Path(worktree) if worktree else None,
            data=data,
            home=Path(home),
            temporary=temporary,
        )

    @cached_property
    def _own_folders(self) -> tuple[Path, Path]:
        return self.data.resolve(), self.temporary.resolve()

    async def load(
        self,
        directory: str,
        sources: ConfigSources | None = None,
        role: Role = PRIMARY_ROLE,
        find_accepted: FindAccepted | None = None,
    ) -> TurnConfig:
        """Raises ConfigError, UnknownAgent."""
        sources = sources or self.default_sources
        workspace = await self._find_workspace(directory, sources.home)
        loaded = await config_loader.load_turn_config(workspace, sources, self.managed, role, find_accepted)
        if self.fetches and loaded.wanted and await self._renew(loaded):
            loaded = await config_loader.load_turn_config(workspace, sources, self.managed, role, find_accepted)
        return loaded.turn_config

    async def _renew(self, loaded: LoadedConfig) -> bool:
        from activities.web.remote_refresh import RemoteRefresh  # memory: httpx, for whom has addresses only

        may_fetch = partial(config_loader.may_fetch, loaded.turn_config.rules)
        return await RemoteRefresh(self.data, self.environ, may_fetch, parse_organisation).renew(loaded.wanted)

    async def check_trust(
        self, directory: str, sources: ConfigSources, find_accepted: FindAccepted | None = None
    ) -> CheckedConfig:
        """What of the directory's files counts, and needs a person's trust. Raises ConfigError."""
        workspace = await self._find_workspace(directory, sources.home)
        return (await config_loader.read_counting(workspace, sources, self.managed, find_accepted))[0]

    async def commands(self, directory: str, sources: ConfigSources, skills: Sequence[Skill] = ()) -> "FoundCommands":
        """The slash commands; `skills`: those that may be used. Raises ConfigError."""
        from activities.project.command_loader import find_commands  # no turn needs it

        workspace = await self._find_workspace(directory, sources.home)
        read = partial(find_commands, workspace, sources, self.managed, skills)
        return await config_loader.read_configuration(workspace, read)

    async def try_load(
        self,
        directory: str,
        sources: ConfigSources | None = None,
        role: Role = PRIMARY_ROLE,
        find_accepted: FindAccepted | None = None,
    ) -> DirectoryConfig:
        """The configuration to freeze, or the built-in one with the reason against a turn."""
        try:
            turn_config = await self.load(directory, sources, role, find_accepted)
            agent = turn_config.agent
            named = (None if agent.model_family else agent.model) or turn_config.config.model
            return DirectoryConfig(turn_config, model=await resolve(named, self.environ) if named else None)
        except UsageError as error:
            workspace = await self._find_workspace(directory, sources.home if sources else None)
            return DirectoryConfig(built_in_config(workspace), problem=str(error))

    async def _find_workspace(self, directory: str, home: str | None) -> Workspace:
        """Raises ConfigError when it is not found in time."""
        return await read_in_time(repr(directory), lambda: self.workspace(directory, home))


def built_in_config(workspace: Workspace) -> TurnConfig:
    """For a turn that only reports a problem."""
    config = Config()
    root = str(workspace.worktree) if workspace.worktree else None
    rules = Rulesets.of(rules_of(BUILD.name, config, workspace))
    return TurnConfig(
        directory=str(workspace.directory), worktree=root, home=str(workspace.home), config=config, rules=rules
    )
