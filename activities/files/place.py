"""Where a session works: its directory, work tree, and the directories of ours that its tools may use."""

import os.path
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """The directories of a session; every path absolute and resolved.

    `worktree` is the root of the git work tree that contains `directory`, or None without one.
    `data` is Holdfast's data directory: `data/"tool-output"` holds complete outputs, `data/"calls"` the
    private directories of running commands.
    """

    directory: Path
    worktree: Path | None
    data: Path
    home: Path
    temporary: Path

    @property
    def root(self) -> Path:
        """What relative paths in permissions, titles and diffs are relative to."""
        return self.worktree or self.directory

    @property
    def tool_output(self) -> Path:
        return self.data / "tool-output"

    def relative(self, path: Path) -> str:
        """`path` as a permission pattern or title shows it: relative to the root, `../x` outside."""
        return os.path.relpath(path, self.root)

    def title(self, path: Path) -> str:
        """`path` as the title of a call: as `relative` has it, but empty for the root itself."""
        return "" if path == self.root else self.relative(path)
