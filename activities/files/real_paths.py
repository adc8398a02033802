"""Where a path leads, as far as the operating system reports it; never raises."""

import os.path
from pathlib import Path


def real_path(path: Path) -> Path:
    """Where a path leads. One that cannot be followed (no search permission, too long a name) is only normalised."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.normpath(path))


def is_directory(path: Path) -> bool:
    """Whether it is visibly a directory."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_link(path: Path) -> bool:
    """Whether it is visibly a link."""
    try:
        return path.is_symlink()
    except OSError:
        return False
