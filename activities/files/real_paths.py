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


def broken_link(path: Path) -> Path | None:
    """The link to nothing, if one stands on the way: what is behind it is not absent, but out of reach."""
    return next((each for each in (path, *path.parents) if is_link(each) and not each.exists()), None)
