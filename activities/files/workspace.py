"""The directories of a session."""

import os.path
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Workspace:
    """Absolute and resolved. `worktree`: root of the git work tree around `directory`, if any. `data`: Holdfast's data
    directory, with complete outputs in `tool-output` and the private directories of calls in `calls`."""

    directory: Path
    worktree: Path | None
    data: Path
    home: Path
    temporary: Path

    @property
    def root(self) -> Path:
        """The base of relative paths in permissions, titles and diffs."""
        return self.worktree or self.directory

    @property
    def tool_output(self) -> Path:
        return self.data / "tool-output"

    def relative(self, path: Path) -> str:
        """`path` in permission patterns and titles: relative to the root, `../x` outside."""
        return os.path.relpath(path, self.root)

    def shorten(self, path: Path) -> str:
        """As tools take it: relative to the directory if it is in there."""
        return str(path.relative_to(self.directory) if path.is_relative_to(self.directory) else path)

    def title(self, path: Path) -> str:
        """Empty for the root."""
        return "" if path == self.root else self.relative(path)
