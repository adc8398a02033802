"""Selects a backup's files: a person's own, no stack's, no keys."""

import os
import re
import stat
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final

from worker.stack import owned_files
from workflows.domain.value import Value

_BACKUP_NAME: Final = re.compile(r"holdfast-\d{8}T\d{6}Z\.tar")  # our default names
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SOCKET_LOCK: Final = re.compile(r"\.s\.PGSQL\.\d+(\.lock)?")


class DirectoryEstimate(Value):
    """What a backup would take, and skip."""

    directory: str
    files: int
    size: int  # bytes
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ArchiveMember:
    """An entry below a directory; `skipped`: why."""

    path: Path
    status: os.stat_result | None
    skipped: str | None = None


@dataclass(frozen=True)
class BackupTree:
    """`excluded` is this stack's, `separate` are trees of their own."""

    directory: Path
    excluded: frozenset[Path] = frozenset()
    separate: frozenset[Path] = frozenset()

    def estimate(self) -> DirectoryEstimate:
        files = size = 0
        skipped: list[tuple[str, str]] = []
        for entry in self.members():
            if entry.skipped is not None:
                skipped.append((str(entry.path), entry.skipped))
            elif entry.status is not None and stat.S_ISREG(entry.status.st_mode):
                files, size = files + 1, size + entry.status.st_size
        return DirectoryEstimate(directory=str(self.directory), files=files, size=size, skipped=tuple(skipped))

    def pack(
        self, tar: tarfile.TarFile, prefix: str, report: Callable[[str], None], seen: DirectoryEstimate | None = None
    ) -> None:
        """Write it below `prefix`. Reports what is skipped (unless in `seen`), vanishes, changes or cannot be read.
        Raises OSError if the tar cannot be written."""
        packer, named = _Packer(tar, self._root, prefix), dict(seen.skipped if seen else ())
        for entry in self.members():
            trouble = entry.skipped or packer.add(entry)
            if trouble is not None and str(entry.path) not in named:
                report(f"Not in the backup: {str(entry.path)!r} ({trouble}).")

    def members(self) -> Iterator[ArchiveMember]:
        """The entries, parents first, without following links."""
        pending = [self._root]
        while pending:
            directory = pending.pop()
            try:
                names = sorted(path.name for path in directory.iterdir())
                status = directory.stat()
            except OSError as error:
                yield ArchiveMember(directory, None, error.strerror or type(error).__name__)
                continue
            if (reason := self._skip_reason(directory, status, names)) is not None:
                yield ArchiveMember(directory, None, reason)
                continue
            yield ArchiveMember(directory, status)
            for name in names:
                entry = _inspect(directory / name)
                if entry.status is not None and stat.S_ISDIR(entry.status.st_mode):
                    pending.extend([entry.path] if entry.path not in self._separate else [])
                else:
                    yield entry

    def _skip_reason(self, directory: Path, status: os.stat_result, names: list[str]) -> str | None:
        if directory in self._excluded or owned_files.is_home(names):
            return "a stack's own"
        if owned_files.holds_any_cluster(directory, names):
            return "a stack's database"
        if status.st_dev != self._device:
            return "another file system"
        return None

    @cached_property
    def _root(self) -> Path:
        return self.directory.resolve()

    @cached_property
    def _device(self) -> int:
        return self._root.stat().st_dev

    @cached_property
    def _excluded(self) -> frozenset[Path]:
        return frozenset(path.resolve() for path in self.excluded)

    @cached_property
    def _separate(self) -> frozenset[Path]:
        return frozenset(path.resolve() for path in self.separate)


def _inspect(path: Path) -> ArchiveMember:
    try:
        status = path.lstat()
    except OSError as error:
        return ArchiveMember(path, None, error.strerror or type(error).__name__)
    if stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode):
        return ArchiveMember(path, status)
    if not stat.S_ISREG(status.st_mode):
        return ArchiveMember(path, status, "no file, directory or link")
    return ArchiveMember(path, status, _file_skip_reason(path))


def _file_skip_reason(path: Path) -> str | None:
    if _BACKUP_NAME.fullmatch(path.name):
        return "a backup"
    if _SOCKET_LOCK.fullmatch(path.name):
        return "a stack's own"
    return "keys" if owned_files.is_key_file(path) else None


class _Packer:
    """Stores hard links once."""

    def __init__(self, tar: tarfile.TarFile, directory: Path, prefix: str) -> None:
        self._tar = tar
        self._directory = directory
        self._prefix = prefix
        self._first: dict[tuple[int, int], str] = {}

    def add(self, entry: ArchiveMember) -> str | None:
        """Add an entry; returns what is wrong with it. Raises OSError if the tar cannot be written."""
        name = "/".join((self._prefix, *entry.path.relative_to(self._directory).parts))
        try:
            if entry.status is None or not stat.S_ISREG(entry.status.st_mode):
                file, member = None, self._tar.gettarinfo(entry.path, name)
            else:
                file = os.fdopen(os.open(entry.path, _OPEN), "rb")
                member = self._tar.gettarinfo(arcname=name, fileobj=file)
        except OSError as error:
            return error.strerror or type(error).__name__
        if file is None:
            self._tar.addfile(member)
            return None
        with file:
            return self._file(member, file)

    def _file(self, member: tarfile.TarInfo, file: BinaryIO) -> str | None:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return "replaced while it was read"
        first = self._first.setdefault((status.st_dev, status.st_ino), member.name)
        if first != member.name:
            member.type, member.linkname, member.size = tarfile.LNKTYPE, first, 0
            self._tar.addfile(member)
            return None
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", status.st_size
        content = FixedSizeReader(file, member.size)
        self._tar.addfile(member, content)
        return "it shrank, or could not be read to its end, which is zeros" if content.truncated else None


class FixedSizeReader:
    """Pads a shrunken file to the size promised to the tar, cuts a grown one."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size
        self.truncated = False

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        try:
            content = self._file.read(wanted)
        except OSError:
            content = b""
        self.truncated = self.truncated or len(content) < wanted
        self._left -= wanted
        return content.ljust(wanted, b"\0")
