"""Reads a backup's tar, which may be anybody's: checks all members before any is written.

The standard library's `filter` came with Python 3.11.4. With plain files and names of a fixed form alone there is
nothing that it would find.
"""

import os
import re
import shutil
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Final

MANIFEST: Final = "backup.json"
DUMP: Final = "database.dump"
HOME_DIRECTORIES: Final = ("tool-output", "archive")  # flat, without keys
_MEMBER: Final = re.compile(rf"{MANIFEST}|{DUMP}|home/({'|'.join(HOME_DIRECTORIES)})/(?!\.{{1,2}}\Z)[^/\0]+")
_END: Final = bytes(2 * tarfile.BLOCKSIZE)
_OPEN: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def read_members(tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """The members by their names. Raises tarfile.TarError for a truncated tar, and for what no backup has: links,
    directories and devices, other names, two members of one name."""
    found: dict[str, tarfile.TarInfo] = {}
    last = -1
    while (member := _next(tar)) is not None:
        if member.offset <= last or member.size < 0:
            raise tarfile.ReadError(f"the member {member.name!r} has an impossible size")
        if not member.isreg() or member.issparse() or member.name in found or not _MEMBER.fullmatch(member.name):
            raise tarfile.ReadError(f"no backup has the member {member.name!r}")
        last = member.offset
        found[member.name] = member
    assert tar.fileobj is not None
    tar.fileobj.seek(tar.offset)
    if tar.fileobj.read(len(_END)) != _END:  # the library takes a broken header for the end
        raise tarfile.ReadError(f"it is broken at byte {tar.offset}")
    return found


def extract(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Write a checked member to a new, private file."""
    content = tar.extractfile(member)
    assert content is not None  # of a plain file
    with os.fdopen(os.open(path, _OPEN, 0o600), "wb") as file:
        shutil.copyfileobj(content, file, 2**20)
    with suppress(OverflowError, ValueError, OSError):  # not a time of the file system
        os.utime(path, (member.mtime, member.mtime))


def _next(tar: tarfile.TarFile) -> tarfile.TarInfo | None:
    """Raises tarfile.TarError, also for headers that crash the library."""
    try:
        return tar.next()
    except (ValueError, OverflowError, RecursionError) as error:
        raise tarfile.ReadError(f"it is broken at byte {tar.offset}: {error}") from None
