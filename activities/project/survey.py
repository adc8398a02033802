"""Surveyor: what a directory says, computed alike by the doors, which show it, and for the turns, which hold to it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from activities.files.place import Place
from activities.project import load, worktree
from activities.project.load import PRIMARY, Role
from activities.project.references import resolve
from workflows.domain.agents import BUILD
from workflows.domain.config.config import Config
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import UsageError


@dataclass(frozen=True)
class Survey:
    """A directory's configuration to freeze, the model that it names, and why no turn can run under it, if so."""

    snapshot: ProjectSnapshot
    model: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Surveyor:
    """Finds a session's place, and reads what its directory says.

    `temporary` is the system's directory for that, `managed` the administrator's configuration folder: both are the
    worker's. `environ` holds what references in the configuration name, `own` are the worker's own sources: those of
    sessions that were started before sources were recorded.
    """

    data: Path
    temporary: Path
    managed: Path
    environ: Mapping[str, str]
    own: ConfigSources

    def place(self, directory: str, snapshot: ProjectSnapshot | None = None) -> Place:
        """Where a session works, under what its turn has frozen."""
        home = (snapshot and snapshot.home) or self.own.home
        found = self._place(directory, home)
        return replace(found, rules=snapshot.rules, delegation=snapshot.delegation) if snapshot else found

    async def load(self, directory: str, sources: ConfigSources | None = None, role: Role = PRIMARY) -> ProjectSnapshot:
        """The configuration of a directory for a session with these sources. Raises ConfigError, UnknownAgent."""
        sources = sources or self.own
        return await load.load(self._place(directory, sources.home), sources, self.managed, role)

    async def survey(self, directory: str, sources: ConfigSources | None = None, role: Role = PRIMARY) -> Survey:
        """The configuration to freeze, or the built-in one and why no turn can run here."""
        try:
            snapshot = await self.load(directory, sources, role)
            named = snapshot.agent.model or snapshot.config.model
            return Survey(snapshot, model=await resolve(named, self.environ) if named else None)
        except UsageError as error:
            return Survey(bare(self._place(directory, (sources or self.own).home)), problem=str(error))

    def _place(self, directory: str, home: str) -> Place:
        return worktree.place(Path(directory), data=self.data, home=Path(home), temporary=self.temporary)


def bare(place: Place) -> ProjectSnapshot:
    """The built-in rules, for a turn that only says what is wrong."""
    config = Config()
    root = str(place.worktree) if place.worktree else None
    rules = load.rules_of(BUILD.name, config, place)
    return ProjectSnapshot(
        directory=str(place.directory), worktree=root, home=str(place.home), config=config, rules=rules
    )
