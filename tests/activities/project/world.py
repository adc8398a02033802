"""A scratch home with a configuration folder, and a project in it that is a git work tree."""

from dataclasses import dataclass
from pathlib import Path

from activities.files.place import Place
from activities.project import worktree
from activities.project.load import PRIMARY, Role, load
from activities.project.sources import read_sources
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.config.sources import ConfigSources


@dataclass(frozen=True)
class World:
    """Where the files of a test lie."""

    home: Path
    config: Path
    project: Path

    def write(self, name: str, text: str, *, under: Path | None = None) -> Path:
        """Write a file of the project, or of another folder of this world."""
        path = (under or self.project) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @property
    def managed(self) -> Path:
        """The administrator's folder."""
        return self.home.parent / "managed"

    def sources(self, **environ: str) -> ConfigSources:
        """What a shell with these variables says of configuration."""
        return read_sources(environ, home=self.home, folder=self.config)

    async def load(self, directory: str = "", role: Role = PRIMARY, **environ: str) -> ProjectSnapshot:
        """The configuration of a directory of the project, for a session that such a shell starts."""
        return await load(self.place(directory), self.sources(**environ), self.managed, role)

    def place(self, directory: str = "") -> Place:
        """The place of a session that works in a directory of the project."""
        here = self.project / directory
        here.mkdir(parents=True, exist_ok=True)
        return worktree.place(here, data=self.home / "data", home=self.home, temporary=self.home / "tmp")
