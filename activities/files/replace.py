"""Replaces files atomically, several of them all or none: a crash leaves the old content of each or the new, and a late
write of a zombie fails. One that cannot be replaced is overwritten."""

import asyncio
import dataclasses
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from activities.failpoints import failpoint
from activities.files.safe_open import descriptor_path, open_directory, open_file, open_without_links, raise_tool_errors
from workflows.domain.errors import ToolError

T = TypeVar("T")
Fence = Callable[[], Awaitable[None]]

_PREFIX: Final = ".holdfast-"
_UNDO: Final = "-undo"
_REMOVED: Final = "old"  # a removed file, in a temporary directory
CHANGED: Final = "{path!r} has changed in the meantime; nothing was written. Read it again."
# A mount point, or in a folder of others or of a read-only file system.
_IRREPLACEABLE: Final = frozenset({errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS})
_OVERWRITE: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Replacement:
    """New content (None: no file) for the real path `target`, which held `before` (SHA-256 in hex; None: no file).
    `call`, `attempt` and the `place` among the call's files name the temporary file, which a later attempt removes.
    `private`: the call's directory, for old content while it may be needed. `like`: the file whose permissions a new
    one gets."""

    target: Path
    before: str | None
    content: bytes | None
    call: str
    attempt: str
    private: Path
    place: int = 0
    like: Path | None = None

    @property
    def temporary(self) -> str:
        return f"{_PREFIX}{self.call}-{self.attempt}-{self.place}"

    @property
    def backup(self) -> Path:
        return backup_of(self.private, self.place)

    def reversed(self) -> "Replacement":
        """Back to the old content, once the new one is there."""
        old = None if self.before is None else self.backup.read_bytes()
        now, attempt, private = content_digest(self.content), self.attempt + _UNDO, self.private / "undone"
        return dataclasses.replace(self, before=now, content=old, attempt=attempt, private=private, like=self.backup)


def backup_of(private: Path, place: int) -> Path:
    return private / f"before-{place}"


def content_digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def file_digest(path: Path) -> str | None:
    """SHA-256 in hex, or None."""
    if not path.exists():
        return None
    with open_file(path) as file, raise_tool_errors(path):
        return hashlib.file_digest(file, "sha256").hexdigest()


async def replace_files(changes: Sequence[Replacement], fence: Fence, made: Sequence[Replacement] = ()) -> None:
    """Change all of these files, in this order, or none: write temporary files, await `fence`, compare each target once
    more, then rename, or overwrite. `made`: those that an earlier attempt has changed.

    ToolError, with nothing changed, when a target no longer holds `before`. A cancellation during the renames comes too
    late. OSError if overwriting fails: its target may hold a part of each. Either error may mean as well that others
    could not be changed back.
    """
    done, several = list(made), len(changes) + len(made) > 1
    try:
        irreplaceable, cancelled = await _run_uncancelled(asyncio.to_thread(_prepare, changes, keep=several))
        if cancelled:
            raise asyncio.CancelledError
        await fence()
        await _run_uncancelled(_make(changes, irreplaceable, fence, done))
    except BaseException as error:
        if done and isinstance(error, ToolError | OSError):
            await _run_uncancelled(_undo(done, fence))
        await _run_uncancelled(asyncio.to_thread(_discard, changes))
        if several and isinstance(error, ToolError):
            await asyncio.to_thread(shutil.rmtree, (*changes, *made)[0].private, ignore_errors=True)
        raise
    if several or irreplaceable:
        await asyncio.to_thread(shutil.rmtree, changes[0].private, ignore_errors=True)


def remove_temporaries(target: Path, call: str) -> set[int]:
    """Remove what earlier attempts left beside `target`; none of them can change it any more. Returns the places of the
    files that they had yet to change."""
    if not target.parent.exists():
        return set()
    with open_directory(target.parent) as folder, raise_tool_errors(target):
        found = list(descriptor_path(folder, target.parent).glob(f"{_PREFIX}{call}-*"))
        waiting = [each.name for each in found if _UNDO not in each.name and not (each / _REMOVED).exists()]
        for each in found:
            _remove(each.name, folder)
    return {int(name.rpartition("-")[2]) for name in waiting}


async def _run_uncancelled(work: Awaitable[T]) -> tuple[T, bool]:
    """The result, and whether a cancellation came; the work ends despite it."""
    cancelled = False
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    return task.result(), cancelled


def _prepare(changes: Sequence[Replacement], *, keep: bool) -> list[Replacement]:
    """Takes all the space that is needed; returns those that have to be overwritten. `keep`: the old content of all."""
    for change in changes if keep else ():
        if change.before is not None:
            with open_file(change.target) as file, raise_tool_errors(change.target):
                _keep(change, file.read())
    return [change for change in changes if not _try(_write, change)]


async def _make(
    changes: Sequence[Replacement], irreplaceable: list[Replacement], fence: Fence, done: list[Replacement]
) -> None:
    """What has to be overwritten comes last: only that can be left half done."""
    for change in [each for each in changes if each not in irreplaceable]:
        await failpoint("tool.changing_file", change.call)
        if done:
            await fence()
        made = await asyncio.to_thread(_try, _commit, change)
        (done if made else irreplaceable).append(change)
    for change in irreplaceable:
        await fence()
        await asyncio.to_thread(_overwrite, change)
        done.append(change)


def _try(step: Callable[[Replacement], None], change: Replacement) -> bool:
    """False: it has to be overwritten."""
    try:
        step(change)
        return True
    except ToolError as error:
        cause = error.__cause__ if change.before is not None and change.content is not None else None
        refused = isinstance(cause, OSError) and cause.errno in _IRREPLACEABLE
        if not (refused and os.access(change.target, os.W_OK) and change.target.stat().st_nlink == 1):
            raise
        _discard([change])
        return False


async def _undo(done: Sequence[Replacement], fence: Fence) -> None:
    back = [each.reversed() for each in reversed(done)]
    try:
        irreplaceable = await asyncio.to_thread(_prepare, back, keep=False)
        await fence()
        await _make(back, irreplaceable, fence, [])
    finally:
        await asyncio.to_thread(_discard, back)


def _keep(change: Replacement, old: bytes) -> None:
    if content_digest(old) != change.before:
        raise ToolError(CHANGED.format(path=str(change.target)))
    change.private.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(change.backup, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as kept:
        _put(kept.fileno(), old)
        _copy_permissions(change.target, kept.fileno())
    with open_directory(change.private.resolve()) as folder:
        os.fsync(folder)


def _write(change: Replacement) -> None:
    creates = change.content is not None
    with open_directory(change.target.parent, create=creates) as folder, raise_tool_errors(change.target):
        if change.content is None:  # the file goes into a directory, without which a zombie cannot remove a later one
            os.mkdir(change.temporary, 0o700, dir_fd=folder)
            return
        descriptor = os.open(change.temporary, _CREATE, 0o666, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            _copy_permissions(change.like or change.target, descriptor)
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
        source, name = (change.temporary, change.target.name)
        if change.content is None:
            source, name = name, f"{source}/{_REMOVED}"
        os.rename(source, name, src_dir_fd=folder, dst_dir_fd=folder)
        with suppress(OSError):  # the new content is in place: the change has succeeded
            os.fsync(folder)
            if change.content is None:
                _remove(change.temporary, folder)


def _overwrite(change: Replacement) -> None:
    with os.fdopen(open_without_links(change.target, _OVERWRITE), "rb") as file:
        old = file.read()
        _keep(change, old)
        try:
            _put(file.fileno(), change.content or b"")
        except OSError as error:  # the disk is full: the old content had its place
            with suppress(OSError):
                _put(file.fileno(), old)
            raise OSError(error.errno, error.strerror, str(change.target)) from error


def _put(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)


def _discard(changes: Sequence[Replacement]) -> None:
    for change in changes:
        with suppress(ToolError, OSError), open_directory(change.target.parent) as folder:
            _remove(change.temporary, folder)


def _remove(name: str, folder: int) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)
