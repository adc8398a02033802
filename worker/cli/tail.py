"""The ends of log files, and what is written to them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from worker.cli.look.text import prose
from worker.settings import Settings
from worker.stack.layout import Layout
from worker.stack.logs import older

_LOOK: Final = 0.3  # seconds between two looks at files that grow


class Tail:
    """Reads logs of the stack; with several of them, each line begins with the name of its own."""

    def __init__(self, settings: Settings, names: list[str]) -> None:
        layout = Layout(home=settings.home)
        self._files = {name: layout.log(name) for name in names}
        self._read: dict[Path, int] = {}
        self._older: dict[Path, int | None] = {}

    def last(self, count: int) -> Iterator[str]:
        """The last lines of each, of the piece before where the log has just begun anew."""
        for name, path in self._files.items():
            self._older[path] = _identity(older(path))
            lines = deque(self._new(path), count)
            if len(lines) < count:
                lines.extendleft(reversed(_lines(older(path), 0)[0][len(lines) - count :]))
            yield from (self._line(name, text) for text in lines)

    async def more(self) -> AsyncIterator[str]:
        """What is written from now on; a log that begins anew is read to its end first, where it was put aside."""
        while True:
            for line in self.news():
                yield line
            await asyncio.sleep(_LOOK)

    def news(self) -> Iterator[str]:
        """What was written since the last look."""
        for name, path in self._files.items():
            yield from (self._line(name, text) for text in self._new(path))

    def _new(self, path: Path) -> list[str]:
        """Complete lines behind those that were read."""
        begin, found = self._read.get(path, 0), list[str]()
        if (now := _identity(older(path))) != self._older.get(path):
            found, begin, self._older[path] = _lines(older(path), begin)[0], 0, now
        lines, self._read[path] = _lines(path, begin)
        return found + lines

    def _line(self, name: str, text: str) -> str:
        return prose(text) if len(self._files) == 1 else f"{name:>10} │ {prose(text)}"


def _lines(path: Path, begin: int) -> tuple[list[str], int]:
    """Complete lines from a place on, and the place behind them."""
    try:
        with path.open("rb") as file:
            file.seek(begin)
            found = file.read()
    except FileNotFoundError:
        return [], begin
    whole = found[: found.rfind(b"\n") + 1]
    return whole.decode(errors="replace").splitlines(), begin + len(whole)


def _identity(path: Path) -> int | None:
    """Tells one file at a path from the next one there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return hash((found.st_ino, found.st_mtime_ns))
