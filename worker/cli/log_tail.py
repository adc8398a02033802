"""The ends of log files, and new lines."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from worker.cli.render.escaping import escape_prose
from worker.settings import Settings
from worker.stack.layout import Layout
from worker.stack.log_rotation import rotated_path

_POLL_INTERVAL: Final = 0.3  # seconds


class LogTail:
    """Reads logs of the stack; with several, each line begins with its log's name."""

    def __init__(self, settings: Settings, names: list[str]) -> None:
        layout = Layout(home=settings.home)
        self._files = {name: layout.log(name) for name in names}
        self._read: dict[Path, int] = {}
        self._older: dict[Path, int | None] = {}

    def last(self, count: int) -> Iterator[str]:
        """The last lines of each log, also from its rotated file."""
        for name, path in self._files.items():
            self._older[path] = _identity(rotated_path(path))
            lines = deque(self._read_new_lines(path), count)
            if len(lines) < count:
                lines.extendleft(reversed(_lines(rotated_path(path), 0)[0][len(lines) - count :]))
            yield from (self._line(name, text) for text in lines)

    async def follow(self) -> AsyncIterator[str]:
        """New lines, without end. A rotated log is first read to its end."""
        while True:
            for line in self.read_new():
                yield line
            await asyncio.sleep(_POLL_INTERVAL)

    def read_new(self) -> Iterator[str]:
        for name, path in self._files.items():
            yield from (self._line(name, text) for text in self._read_new_lines(path))

    def _read_new_lines(self, path: Path) -> list[str]:
        begin, found = self._read.get(path, 0), list[str]()
        if (now := _identity(rotated_path(path))) != self._older.get(path):
            found, begin, self._older[path] = _lines(rotated_path(path), begin)[0], 0, now
        lines, self._read[path] = _lines(path, begin)
        return found + lines

    def _line(self, name: str, text: str) -> str:
        return escape_prose(text) if len(self._files) == 1 else f"{name:>10} │ {escape_prose(text)}"


def _lines(path: Path, begin: int) -> tuple[list[str], int]:
    """Complete lines from offset `begin`, and the offset after them."""
    try:
        with path.open("rb") as file:
            file.seek(begin)
            found = file.read()
    except FileNotFoundError:
        return [], begin
    whole = found[: found.rfind(b"\n") + 1]
    return whole.decode(errors="replace").splitlines(), begin + len(whole)


def _identity(path: Path) -> int | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return hash((found.st_ino, found.st_mtime_ns))
