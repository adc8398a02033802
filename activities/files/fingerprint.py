"""Tells whether a file has changed: cheap stamps, and fingerprints of its content."""

import hashlib
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.safe_open import open_without_links
from workflows.domain.waits import MISSING

_MAX_HASHED: Final = 64 * 1024 * 1024  # bytes; of a longer file, size and time count
_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class FileStamp(NamedTuple):
    """Changes with each write, but for one within the same tick of the file system's clock."""

    inode: int
    size: int
    modified: int
    changed: int


def file_stamp(path: Path) -> FileStamp | None:
    """A file's stamp; None if there is no file. Raises OSError."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return FileStamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def fingerprint(path: Path) -> str:
    """Equal for equal content, MISSING without a file. Raises OSError, also for a link on the way."""
    try:
        descriptor = open_without_links(path, _FLAGS)
    except FileNotFoundError:
        return MISSING
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return f"type {stat.S_IFMT(found.st_mode)}"
        if found.st_size > _MAX_HASHED:
            return f"size {found.st_size}, written {found.st_mtime_ns}"
        with open(descriptor, "rb", closefd=False) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    finally:
        os.close(descriptor)
