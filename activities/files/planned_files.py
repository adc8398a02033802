"""PlannedFiles: what a call would make of its files. Nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from activities.files.locate import LocatedPath, PathKind, locate
from activities.files.safe_open import read_whole
from activities.files.workspace import Workspace


@dataclass(eq=False)
class PlannedFile:
    """A file before and after the call (None: no file). `replaced`: as a whole, whatever it held. `source`: what it
    was before a move."""

    located: LocatedPath
    before: bytes | None
    after: bytes | None
    replaced: bool = False
    source: "PlannedFile | None" = None

    @property
    def path(self) -> Path:
        return self.located.path

    def replace(self, after: bytes | None, source: "PlannedFile | None" = None) -> None:
        self.after, self.replaced, self.source = after, True, source


@dataclass
class PlannedFiles:
    """`limit`: bytes of a file. `known`: contents that count instead of what is there."""

    workspace: Workspace
    limit: int
    known: Mapping[Path, bytes | None] = field(default_factory=dict)
    found: dict[Path, PlannedFile] = field(default_factory=dict)

    def find(self, written: str) -> PlannedFile:
        """The same for each name of a file. Raises ToolError."""
        located = locate(written, self.workspace)
        if located.path not in self.found:
            content = self.known[located.path] if located.path in self.known else self._read(located)
            self.found[located.path] = PlannedFile(located, content, content)
        return self.found[located.path]

    def begin(self) -> None:
        """What is changed so far was there before."""
        for file in self.found.values():
            file.before, file.replaced, file.source = file.after, False, None

    def _read(self, located: LocatedPath) -> bytes | None:
        return read_whole(located.path, self.limit) if located.kind is PathKind.FILE else None
