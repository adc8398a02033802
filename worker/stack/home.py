"""Whether Holdfast's home can be written to, and what a person is told where it cannot."""

import errno
import os
import tempfile
from pathlib import Path
from typing import Final

from workflows.domain.errors import UsageError

REMEDY: Final = "See that it is a directory of yours with room in it, or name another one by HOLDFAST_HOME."
_OF_THE_PLACE: Final = frozenset(
    (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST)
)  # of what is in the way, and no fault of ours


class Unusable(UsageError):
    """Nothing can be written to the home."""

    def __init__(self, home: Path, why: str) -> None:
        super().__init__(f"Holdfast's home {str(home)!r} cannot be used: {why}. {REMEDY}")


def existing(path: Path) -> Path:
    """The path, or what of it is there, as far as it can be seen."""
    return next(part for part in (path, *path.parents) if os.path.lexists(part))


def trouble(home: Path) -> str | None:
    """Why nothing can be written to the home, or to where it would be made; None: it can."""
    place = existing(home)
    if not place.is_dir():
        return f"{str(place)!r} is {'a link to nowhere' if place.is_symlink() else 'no directory'}"
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
    except FileNotFoundError:  # what /proc says
        return f"{str(place)!r} takes no files"
    except OSError as error:
        return f"nothing can be written to {str(place)!r}: {error.strerror}"
    return None


def unusable(home: Path, error: OSError) -> Unusable | None:
    """What an error comes of, if it comes of the home, or of something in it that is in the way."""
    if (why := trouble(home)) is not None:
        return Unusable(home, why)
    named = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    if error.errno in _OF_THE_PLACE and named is not None and named.is_relative_to(home):
        return Unusable(home, f"{str(named)!r}: {error.strerror}")
    return None
