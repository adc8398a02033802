"""Where a path leads, as far as it is visible; never raises."""

import os.path
from pathlib import Path


def real_path(path: Path) -> Path:
    """A path that cannot be followed (no search permission, too long a name) is only normalised."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.normpath(path))


def is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:
        return False
