"""Replaces a file atomically: a crash leaves the old content or the new, and a late write of a zombie fails. One that
cannot be replaced is overwritten, with its old content kept aside until that is done."""

import asyncio
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.files.safe_open import descriptor_path, open_directory, open_file, open_without_links, raise_tool_errors
from workflows.domain.errors import ToolError

BACKUP: Final = "before"  # the old content of a file that is being overwritten
_PREFIX: Final = ".holdfast-"
CHANGED: Final = "{path!r} has changed in the meantime; nothing was written. Read it again."
# A mount point, or in a folder of others or of a read-only file system.
_IRREPLACEABLE: Final = frozenset({errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS})
_OVERWRITE: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Replacement:
    """New content for the file at a real path, which held `before` (SHA-256 in hex; None: no file). `call` and
    `attempt` name the temporary file, which a later attempt removes. `private`: the call's directory for `BACKUP`."""

    target: Path
    before: str | None
    content: bytes
    call: str
    attempt: str
    private: Path

    @property
    def temporary(self) -> str:
        return f"{_PREFIX}{self.call}-{self.attempt}"


def file_digest(path: Path) -> str | None:
    """SHA-256 in hex, or None."""
    if not path.exists():
        return None
    with open_file(path) as file, raise_tool_errors(path):
        return hashlib.file_digest(file, "sha256").hexdigest()


async def replace_file(change: Replacement, fence: Callable[[], Awaitable[None]]) -> None:
    """Write a temporary file, await `fence`, compare the target once more, then rename, or overwrite.

    ToolError, with nothing changed, when the target no longer holds `before`. A cancellation during the rename comes
    too late. OSError if overwriting fails: the target may hold a part of each.
    """
    try:
        if await _run_uncancelled(_write, change):
            raise asyncio.CancelledError
        await fence()
        await _run_uncancelled(_commit, change)
    except BaseException as error:
        await _run_uncancelled(_discard, change)
        if not _has_to_be_overwritten(change, error):
            raise
        await fence()
        await _run_uncancelled(_overwrite, change)


def remove_temporaries(target: Path, call: str) -> None:
    """Remove what earlier attempts left beside `target`; none of them can rename it any more."""
    if not target.parent.exists():
        return
    with open_directory(target.parent) as folder, raise_tool_errors(target):
        for left in descriptor_path(folder, target.parent).glob(f"{_PREFIX}{call}-*"):
            os.unlink(left.name, dir_fd=folder)


async def _run_uncancelled(step: Callable[[Replacement], None], change: Replacement) -> bool:
    """Returns whether a cancellation came; the step ends despite it."""
    cancelled = False
    task = asyncio.ensure_future(asyncio.to_thread(step, change))
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    return cancelled


def _write(change: Replacement) -> None:
    with open_directory(change.target.parent, create=True) as folder, raise_tool_errors(change.target):
        descriptor = os.open(change.temporary, _CREATE, 0o666, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            _copy_permissions(change.target, descriptor)
            file.write(change.content)
            file.flush()
            os.fsync(descriptor)


def _copy_permissions(target: Path, descriptor: int) -> None:
    with suppress(FileNotFoundError):
        status = target.stat()
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _commit(change: Replacement) -> None:
    with open_directory(change.target.parent) as folder, raise_tool_errors(change.target):
        if file_digest(change.target) != change.before:
            raise ToolError(CHANGED.format(path=str(change.target)))
        os.rename(change.temporary, change.target.name, src_dir_fd=folder, dst_dir_fd=folder)
        with suppress(OSError):  # the new content is in place: the change has succeeded
            os.fsync(folder)


def _has_to_be_overwritten(change: Replacement, error: BaseException) -> bool:
    cause = error.__cause__ if isinstance(error, ToolError) and change.before is not None else None
    refused = isinstance(cause, OSError) and cause.errno in _IRREPLACEABLE
    return refused and os.access(change.target, os.W_OK) and change.target.stat().st_nlink == 1


def _overwrite(change: Replacement) -> None:
    backup = change.private / BACKUP
    with os.fdopen(open_without_links(change.target, _OVERWRITE), "rb") as file:
        old = file.read()
        if hashlib.sha256(old).hexdigest() != change.before:
            raise ToolError(CHANGED.format(path=str(change.target)))
        backup.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with backup.open("wb") as kept:
            _put(kept.fileno(), old)
        try:
            _put(file.fileno(), change.content)
        except OSError:  # the disk is full: the old content had its place
            with suppress(OSError):
                _put(file.fileno(), old)
            raise
    shutil.rmtree(change.private, ignore_errors=True)


def _put(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)


def _discard(change: Replacement) -> None:
    with suppress(ToolError, OSError), open_directory(change.target.parent) as folder:
        os.unlink(change.temporary, dir_fd=folder)
