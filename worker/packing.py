"""What of a directory a backup takes: everything that a person made, and nothing that belongs to a stack or to keys."""

import os
import re
import stat
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final

from worker.stack import belongings
from workflows.domain.value import Value

_EARLIER: Final = re.compile(r"holdfast-\d{8}T\d{6}Z\.tar")  # backups that got their names from us
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SOCKET_LOCK: Final = re.compile(r"\.s\.PGSQL\.\d+(\.lock)?")


class Measured(Value):
    """What a backup would take of a directory, and what it would leave out, each with its reason."""

    directory: str
    files: int
    size: int  # bytes
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """Something below a directory; `left_out` says why it is not taken."""

    path: Path
    status: os.stat_result | None
    left_out: str | None = None


@dataclass(frozen=True)
class Tree:
    """A directory as a backup sees it: `excluded` belongs to this stack, `apart` is packed as a tree of its own."""

    directory: Path
    excluded: frozenset[Path] = frozenset()
    apart: frozenset[Path] = frozenset()

    def measure(self) -> Measured:
        """Count what would be taken."""
        files = size = 0
        left_out: list[tuple[str, str]] = []
        for entry in self.entries():
            if entry.left_out is not None:
                left_out.append((str(entry.path), entry.left_out))
            elif entry.status is not None and stat.S_ISREG(entry.status.st_mode):
                files, size = files + 1, size + entry.status.st_size
        return Measured(directory=str(self.directory), files=files, size=size, left_out=tuple(left_out))

    def pack(self, tar: tarfile.TarFile, prefix: str, say: Callable[[str], None], seen: Measured | None = None) -> None:
        """Write it into a tar below `prefix`. What is left out is named, unless it was `seen` before, and what goes,
        changes or cannot be read meanwhile is, too. Raises OSError when the tar cannot be written.
        """
        packer, named = _Packer(tar, self._root, prefix), dict(seen.left_out if seen else ())
        for entry in self.entries():
            trouble = entry.left_out or packer.add(entry)
            if trouble is not None and str(entry.path) not in named:
                say(f"Not in the backup: {str(entry.path)!r} ({trouble}).")

    def entries(self) -> Iterator[Entry]:
        """The directory itself and everything below it, parents first; links are not followed."""
        pending = [self._root]
        while pending:
            directory = pending.pop()
            try:
                names = sorted(path.name for path in directory.iterdir())
                status = directory.stat()
            except OSError as error:
                yield Entry(directory, None, error.strerror or type(error).__name__)
                continue
            if (reason := self._foreign(directory, status, names)) is not None:
                yield Entry(directory, None, reason)
                continue
            yield Entry(directory, status)
            for name in names:
                entry = _entry(directory / name)
                if entry.status is not None and stat.S_ISDIR(entry.status.st_mode):
                    pending.extend([entry.path] if entry.path not in self._apart else [])
                else:
                    yield entry

    def _foreign(self, directory: Path, status: os.stat_result, names: list[str]) -> str | None:
        """Why nothing of this directory is taken."""
        if directory in self._excluded or belongings.is_home(names):
            return "a stack's own"
        if belongings.is_anybodys_cluster(directory, names):
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
    def _apart(self) -> frozenset[Path]:
        return frozenset(path.resolve() for path in self.apart)


def _entry(path: Path) -> Entry:
    try:
        status = path.lstat()
    except OSError as error:
        return Entry(path, None, error.strerror or type(error).__name__)
    if stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode):
        return Entry(path, status)
    if not stat.S_ISREG(status.st_mode):
        return Entry(path, status, "no file, directory or link")
    return Entry(path, status, _kind(path))


def _kind(path: Path) -> str | None:
    """What of a stack or of keys this file is."""
    if _EARLIER.fullmatch(path.name):
        return "a backup"
    if _SOCKET_LOCK.fullmatch(path.name):
        return "a stack's own"
    return "keys" if belongings.is_key_file(path) else None


class _Packer:
    """Adds entries of one directory to a tar; a file that has several names is written once."""

    def __init__(self, tar: tarfile.TarFile, directory: Path, prefix: str) -> None:
        self._tar = tar
        self._directory = directory
        self._prefix = prefix
        self._first: dict[tuple[int, int], str] = {}

    def add(self, entry: Entry) -> str | None:
        """Add it; what is wrong with that. Raises OSError when the tar cannot be written."""
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
        content = Promised(file, member.size)
        self._tar.addfile(member, content)
        return "it shrank, or could not be read to its end, which is zeros" if content.short else None


class Promised:
    """As many bytes as a tar was promised: a file that shrinks is filled up, one that grows is cut."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size
        self.short = False

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        try:
            content = self._file.read(wanted)
        except OSError:
            content = b""
        self.short = self.short or len(content) < wanted
        self._left -= wanted
        return content.ljust(wanted, b"\0")
