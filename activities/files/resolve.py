"""Resolve: where a path leads, as far as the operating system tells; what it refuses to tell raises nothing."""

import os.path
from pathlib import Path


def real(path: Path) -> Path:
    """Where a path leads. One that cannot be followed (no right to search, a name that is too long) stays as it is
    written, without `.` and `..`."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.normpath(path))


def is_directory(path: Path) -> bool:
    """Whether a directory stands there, as far as can be seen."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_link(path: Path) -> bool:
    """Whether a link stands there, as far as can be seen."""
    try:
        return path.is_symlink()
    except OSError:
        return False
