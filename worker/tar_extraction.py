"""Reads untrusted tars: checks members first, writes nothing outside of a target.

The standard library's `filter` came with Python 3.11.4, and has let links lead outside since.
"""

import copy
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Final

_END: Final = bytes(2 * tarfile.BLOCKSIZE)
_OPEN: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class UnsafeMember(tarfile.ReadError):
    """A tar has a member that no backup has."""

    def __init__(self, member: tarfile.TarInfo, why: str) -> None:
        super().__init__(f"the member {member.name!r} {why}")


def read_members(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """Raises tarfile.TarError for a truncated tar, and for what no backup has: absolute or escaping names, devices,
    duplicates, members below a link."""
    found: dict[str, tarfile.TarInfo] = {}
    parents: set[str] = set()
    last = -1
    while (member := _next(tar)) is not None:
        if member.offset <= last or member.size < 0:
            raise UnsafeMember(member, "has an impossible size")
        if (why := _violation(member, found, parents)) is not None:
            raise UnsafeMember(member, why)
        last = member.offset
        found[member.name] = member
        parents.update(_parents(member))
    _check_end(tar)
    return list(found.values())


def members_below(members: Iterable[tarfile.TarInfo], prefix: str) -> list[tarfile.TarInfo]:
    """The members of one directory, with names relative to it."""
    start = f"{prefix}/"
    inside = [copy.copy(member) for member in members if member.name.startswith(start)]
    for member in inside:
        member.name = member.name.removeprefix(start)
        if member.islnk():
            member.linkname = member.linkname.removeprefix(start)
    return inside


def unpack(
    tar: tarfile.TarFile, members: list[tarfile.TarInfo], target: Path, on_skipped: Callable[[str], None]
) -> None:
    """Write checked members below `target`, an empty directory, without others' write rights and set-user-id.

    Links come last: nothing is written through one; those that leave `target` are skipped and reported.
    """
    for member in members:
        path = target / member.name
        if member.isdir():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not member.issym():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_file(tar, member, target)
    for member in members:
        if member.issym():
            _write_link(member, target, on_skipped)
    for member in reversed(members):
        if member.isdir():
            (target / member.name).chmod(member.mode & 0o755 | 0o700)


def _next(tar: tarfile.TarFile) -> tarfile.TarInfo | None:
    """Raises tarfile.TarError, also for headers that crash the library."""
    try:
        return tar.next()
    except (ValueError, OverflowError, RecursionError) as error:
        raise tarfile.ReadError(f"it is broken at byte {tar.offset}: {error}") from None


def _check_end(tar: tarfile.TarFile) -> None:
    """The library takes a broken header for the end."""
    assert tar.fileobj is not None
    tar.fileobj.seek(tar.offset)
    if tar.fileobj.read(len(_END)) != _END:
        raise tarfile.ReadError(f"it is broken at byte {tar.offset}")


def _violation(member: tarfile.TarInfo, before: dict[str, tarfile.TarInfo], parents: set[str]) -> str | None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\0" in member.name or str(name) != member.name:
        return "has a name that leads outside"
    if member.name in before:
        return "is there twice"
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()) or member.issparse():
        return "is no file, directory or link"
    if member.name in parents and not member.isdir():
        return "is no directory, and something lies below it"
    if any(parent in before and not before[parent].isdir() for parent in _parents(member)):
        return "lies below what is no directory"
    if member.islnk() and not _same_tree(member, before.get(member.linkname)):
        return f"is another name of {member.linkname!r}, which is no file before it"
    return None


def _parents(member: tarfile.TarInfo) -> Iterator[str]:
    return map(str, PurePosixPath(member.name).parents)


def _same_tree(member: tarfile.TarInfo, first: tarfile.TarInfo | None) -> bool:
    return first is not None and first.isreg() and first.name.split("/")[:2] == member.name.split("/")[:2]


def _write_file(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    path = target / member.name
    if member.islnk():
        os.link(target / member.linkname, path, follow_symlinks=False)
        return
    content = tar.extractfile(member)
    assert content is not None  # of a regular file
    mode = member.mode & 0o755 if member.mode & stat.S_IXUSR else member.mode & 0o644
    descriptor = os.open(path, _OPEN, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(content, file, 2**20)
        if file.tell() != member.size:
            raise tarfile.ReadError(f"{member.name!r} ends too early")
        file.flush()
        os.fchmod(descriptor, mode | 0o600)
        with suppress(OverflowError, ValueError, OSError):  # not a time of the file system
            os.utime(descriptor, (member.mtime, member.mtime))


def _write_link(member: tarfile.TarInfo, target: Path, on_skipped: Callable[[str], None]) -> None:
    path = target / member.name
    if not _leads_inside(member, target):
        on_skipped(f"Not made, because it leads out of its directory: {str(path)!r} -> {member.linkname!r}.")
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.symlink_to(member.linkname)


def _leads_inside(member: tarfile.TarInfo, target: Path) -> bool:
    """Through any other links: it goes up only at its start, and at most to the target, or is an absolute path below
    it."""
    to = PurePosixPath(member.linkname)
    if not member.linkname or "\0" in member.linkname:
        return False
    if to.is_absolute():
        return to.is_relative_to(target) and ".." not in to.parts
    steps = list(takewhile("..".__eq__, to.parts))
    down = to.parts[len(steps) :]
    return len(steps) <= len(PurePosixPath(member.name).parts) - 1 and ".." not in down
