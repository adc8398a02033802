"""A scratch home with a configuration folder, and a project in a git work tree."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from activities.files.workspace import Workspace
from activities.project import worktree
from activities.project.config_loader import PRIMARY_ROLE, LoadedConfig, Role, load_turn_config
from activities.project.config_variables import read_sources
from activities.project.project_loader import ProjectLoader
from activities.store.trust_records import DecidedContent, TrustRecordRow, decided_about
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustContent
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


class Person:
    """Who accepts contents."""

    def __init__(self, project_home: ProjectHome) -> None:
        self.home = project_home
        self.records: list[DecidedContent] = []
        self.before_reading: Callable[[], None] = lambda: None

    async def content(self) -> TrustContent:
        home = self.home
        loader = ProjectLoader(home.home / "data", home.home / "tmp", home.managed, {}, home.sources())
        return (await loader.check_trust(str(home.project), home.sources())).content

    async def accept(self) -> None:
        content, directory = await self.content(), str(self.home.project)
        named = {"trust": directory, "seq": len(self.records) + 1, "kind": "accepted", "directory": directory}
        row = TrustRecordRow(digest=content.sealed, author="me", method="cli", at=datetime.now(UTC), **named)
        self.records.append((row, content))

    async def load(self, role: Role = PRIMARY_ROLE) -> TurnConfig:
        home = self.home

        async def find_accepted(content: TrustContent) -> AcceptedTrust | None:
            assert content.places.root == str(home.project)
            self.before_reading()
            return decided_about(content, str(home.project), self.records).accepted

        loaded = await load_turn_config(home.workspace(), home.sources(), home.managed, role, find_accepted)
        return loaded.turn_config

    async def held(self) -> list[str]:
        return [each.field for each in (await self.load()).held]
