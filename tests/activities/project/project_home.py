"""A scratch home with a configuration folder, and a project in a git work tree."""

from dataclasses import dataclass
from pathlib import Path

from activities.files.workspace import Workspace
from activities.project import worktree
from activities.project.config_loader import PRIMARY_ROLE, LoadedConfig, Role, load_turn_config
from activities.project.config_variables import read_sources
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import TurnConfig


@dataclass(frozen=True)
class ProjectHome:
    """The directories of a test."""

    home: Path
    config: Path
    project: Path

    def write(self, name: str, text: str, *, under: Path | None = None) -> Path:
        """Write a file of the project, or `under` another folder."""
        path = (under or self.project) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @property
    def managed(self) -> Path:
        """The administrator's folder."""
        return self.home.parent / "managed"

    def sources(self, **environ: str) -> ConfigSources:
        """The sources of configuration in a shell with these variables."""
        return read_sources(environ, home=self.home, folder=self.config)

    async def load(self, directory: str = "", role: Role = PRIMARY_ROLE, **environ: str) -> TurnConfig:
        """The configuration of a project directory for a session started in such a shell."""
        return (await self.loaded(directory, role, **environ)).turn_config

    async def loaded(self, directory: str = "", role: Role = PRIMARY_ROLE, **environ: str) -> LoadedConfig:
        """And what it names on the net."""
        return await load_turn_config(self.workspace(directory), self.sources(**environ), self.managed, role)

    def workspace(self, directory: str = "") -> Workspace:
        """The workspace of a session in a project directory."""
        here = self.project / directory
        here.mkdir(parents=True, exist_ok=True)
        return worktree.find_workspace(here, data=self.home / "data", home=self.home, temporary=self.home / "tmp")
