"""Opens a real path without following links, directory by directory."""

import os
from pathlib import Path
from typing import Final

_DIRECTORY_FLAGS: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


def open_without_links(path: Path, flags: int) -> int:
    """`path` is absolute; OSError (ELOOP or ENOTDIR) when a link is on the way."""
    current = os.open("/", _DIRECTORY_FLAGS)
    try:
        for name in path.parts[1:-1]:
            current, previous = os.open(name, _DIRECTORY_FLAGS, dir_fd=current), current
            os.close(previous)
        return os.open(path.name or ".", flags | os.O_NOFOLLOW, dir_fd=current)
    finally:
        os.close(current)
