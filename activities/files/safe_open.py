"""Opens exactly the path that was checked, and only regular files and directories."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Final

from workflows.domain.errors import ToolError

_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY_FLAGS: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


@contextmanager
def raise_tool_errors(path: Path) -> Iterator[None]:
    """Turn OSError into ToolError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ToolError(
                f"{str(path)!r} leads through a file, a loop of links, or a link made meanwhile."
            ) from error
        raise ToolError(f"{str(path)!r} cannot be used: {error.strerror}.") from error


def failure_reason(error: Exception) -> str:
    """The operating system's reason alone: the caller's message names the file."""
    if isinstance(error, RuntimeError):  # of Path.resolve, before Python 3.13
        return os.strerror(errno.ELOOP)
    cause = error if isinstance(error, OSError) else error.__cause__
    return cause.strerror if isinstance(cause, OSError) and cause.strerror else str(error)


def open_file(path: Path) -> BufferedReader:
    """Anything but a regular file is refused without blocking."""
    with raise_tool_errors(path):
        descriptor = open_without_links(path, _READ_FLAGS)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    problem = "is not a regular file"
    raise ToolError(f"{str(path)!r} {problem}: only regular files are read and written.") from OSError(
        errno.EINVAL, f"it {problem}"
    )


def read_whole(path: Path, limit: int) -> bytes:
    """ToolError for a file longer than `limit`."""
    with open_file(path) as file, raise_tool_errors(path):
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ToolError(
            f"{str(path)!r} is larger than {limit} bytes, which is too much for this tool: use bash."
        ) from OSError(errno.EFBIG, f"it is larger than {limit:,} bytes")
    return content


@contextmanager
def open_directory(path: Path, *, create: bool = False) -> Iterator[int]:
    """A descriptor for lookups; `create` makes missing directories."""
    if create:
        _make_directories(path)
    with raise_tool_errors(path):
        descriptor = open_without_links(path, _READ_FLAGS | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def descriptor_path(descriptor: int, path: Path) -> Path:
    """A path to the open directory itself, also after a rename (Linux)."""
    link = Path(f"/proc/self/fd/{descriptor}")
    return link if link.exists() else path


def _make_directories(path: Path) -> None:
    steps = [path, *path.parents]
    missing = [step for step in steps if not step.exists()]
    for step in reversed(missing):
        with open_directory(step.parent) as parent, raise_tool_errors(step), suppress(FileExistsError):
            os.mkdir(step.name, dir_fd=parent)


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
