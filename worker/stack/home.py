"""Checks that Holdfast's home is writable."""

import errno
import os
import tempfile
from pathlib import Path
from typing import Final

from workflows.domain.errors import UsageError

REMEDY: Final = "Check that it is a directory of yours with free space, or name another one in HOLDFAST_HOME."
# of an obstacle, not of ours
_PATH_ERRNOS: Final = frozenset((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST))


def nearest_existing(path: Path) -> Path:
    """The path, or its nearest existing, visible ancestor."""
    return next(part for part in (path, *path.parents) if os.path.lexists(part))


def home_problem(home: Path) -> str | None:
    """Why the home cannot be written or created, or None."""
    nearest = nearest_existing(home)
    if not nearest.is_dir():
        return f"{str(nearest)!r} is {'a link to nowhere' if nearest.is_symlink() else 'no directory'}"
    try:
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(b"x")
    except FileNotFoundError:  # from /proc
        return f"{str(nearest)!r} takes no files"
    except OSError as error:
        return f"nothing can be written to {str(nearest)!r}: {error.strerror}"
    return None


def as_home_error(home: Path, error: OSError) -> UsageError | None:
    """The error as the home's, if the home or its content caused it."""
    if (why := home_problem(home)) is not None:
        return home_unusable(home, why)
    named = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    if error.errno in _PATH_ERRNOS and named is not None and named.is_relative_to(home):
        return home_unusable(home, f"{str(named)!r}: {error.strerror}")
    return None


def home_unusable(home: Path, why: str) -> UsageError:
    return UsageError(f"Holdfast's home {str(home)!r} cannot be used: {why}. {REMEDY}")
