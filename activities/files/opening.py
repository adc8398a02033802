"""Opening exactly the path that was judged, and only what file tools may open."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Final

from activities.files.beneath import open_without_links
from workflows.domain.errors import ToolError

_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses at `path` into the ToolError that a model reads."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ToolError(
                f"{str(path)!r} leads through a file, a loop of links, or a link made meanwhile."
            ) from error
        raise ToolError(f"{str(path)!r} cannot be used: {error.strerror}.") from error


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading by its real path; everything else is refused without waiting for it."""
    with refusing(path):
        descriptor = open_without_links(path, _LOOK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise ToolError(f"{str(path)!r} is not a regular file: only regular files are read and written.")


def read_whole(path: Path, limit: int) -> bytes:
    """All bytes of a regular file; one that is longer than `limit` is refused."""
    with open_file(path) as file, refusing(path):
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ToolError(f"{str(path)!r} is larger than {limit} bytes, which is too much for this tool: use bash.")
    return content


@contextmanager
def directory(path: Path, *, create: bool = False) -> Iterator[int]:
    """A descriptor of the directory at a real path, to look up names in it; `create` makes what is missing."""
    if create:
        _make(path)
    with refusing(path):
        descriptor = open_without_links(path, _LOOK | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def as_path(descriptor: int, path: Path) -> Path:
    """A path by which a program reaches the open directory itself, whatever is renamed meanwhile (Linux)."""
    link = Path(f"/proc/self/fd/{descriptor}")
    return link if link.exists() else path


def _make(path: Path) -> None:
    steps = [path, *path.parents]
    missing = [step for step in steps if not step.exists()]
    for step in reversed(missing):
        with directory(step.parent) as parent, refusing(step), suppress(FileExistsError):
            os.mkdir(step.name, dir_fd=parent)
