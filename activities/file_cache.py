"""What was read from a small file, kept until the file changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

V = TypeVar("V")
_Stamp: TypeAlias = tuple[int, ...] | None  # none: it cannot be looked at


class FileCache(Generic[V]):
    """`read` is called only for a file that has changed: who writes it replaces it."""

    def __init__(self, path: Path, read: Callable[[], V]) -> None:
        self._path = path
        self._read = read
        self._known: tuple[_Stamp, V] | None = None

    def get(self) -> V:
        """Raises as `read`."""
        stamp = self._stamp()
        if self._known is None or stamp is None or self._known[0] != stamp:
            self._known = stamp, self._read()
        return self._known[1]

    def _stamp(self) -> _Stamp:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
