"""FolderScan: the files of folders that a hostile project may have filled."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.real_paths import broken_link, is_directory

MAX_ENTRIES: Final = 10_000  # read in all folders of one scan
_EMACS_LOCK: Final = ".#"  # begins the name of a link to nothing, beside a file that is being edited


class FolderScan:
    """`limit`: of entries in all folders. `first_unread`: the first folder beyond it. `unreadable`: the first that is
    there, and cannot be read, or a link that leads nowhere and may have led to one."""

    def __init__(self, limit: int = MAX_ENTRIES) -> None:
        self.remaining = limit
        self.first_unread: Path | None = None
        self.unreadable: Path | None = None

    def files(self, folder: Path, endings: tuple[str, ...], *, deep: bool) -> Iterator[Path]:
        """Through links to directories too, as in OpenCode."""
        # Each directory is entered once: links to one another would multiply with each level.
        visited: set[tuple[int, int]] = set()
        todo = [folder]
        while todo:
            directories = []
            for entry in self.read(todo.pop(), visited):
                if is_directory(Path(entry.path)):
                    directories.append(Path(entry.path))
                elif entry.name.endswith(endings):
                    yield Path(entry.path)
                elif deep and _leads_nowhere(entry):
                    self.unreadable = self.unreadable or Path(entry.path)
            todo += reversed(directories) if deep else []

    def read(self, folder: Path, visited: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
        try:
            return self.entries(folder, visited)
        except OSError as error:
            absent = isinstance(error, FileNotFoundError | NotADirectoryError) and broken_link(folder) is None
            self.unreadable = self.unreadable or (None if absent else folder)
            return []

    def entries(self, folder: Path, visited: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
        """Links last; none when the directory is in `visited` (device, inode)."""
        status = folder.stat()
        if (status.st_dev, status.st_ino) in visited:
            return []
        visited.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as scanned:
            entries = [*islice(scanned, self.remaining + 1)]
        if len(entries) > self.remaining:
            self.first_unread = self.first_unread or folder
        entries = entries[: self.remaining]
        self.remaining -= len(entries)
        entries = [entry for entry in entries if not entry.name.startswith(_EMACS_LOCK)]
        return sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """A link to what is not there, or cannot be looked at."""
    if not entry.is_symlink():
        return False
    try:
        entry.stat()
    except OSError:
        return True
    return False
