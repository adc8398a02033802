"""A window of lines out of a file of any size, read in bounded memory and bounded time."""

from dataclasses import dataclass
from io import BufferedReader
from typing import Final

from activities.files.text import BOM, shown

LINE_LIMIT: Final = 2000  # characters shown of one line (opencode.md 7.2)
BYTE_LIMIT: Final = 51_200  # bytes of lines shown in all
SCANNED: Final = 64 * 1024 * 1024  # bytes at a file's beginning in which lines are looked for and counted

_CHUNK: Final = 128 * 1024
_LONGEST: Final = 4 * (LINE_LIMIT + 2)  # bytes that hold more than LINE_LIMIT characters in any case
_CUT: Final = f"... (line truncated to {LINE_LIMIT} chars)"


@dataclass(frozen=True)
class Window:
    """Lines from line `first` on, without their endings; empty where the file has no such line.

    `total` counts the lines of the file; None: unknown, since the file goes on behind SCANNED. `capped` says that
    BYTE_LIMIT ended the window.
    """

    first: int
    lines: tuple[str, ...]
    total: int | None
    capped: bool = False

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def complete(self) -> bool:
        """Whether nothing follows the window in the file."""
        return self.total is not None and self.last >= self.total


def window(file: BufferedReader, first: int, limit: int) -> Window:
    """Up to `limit` lines from line `first` (from 1) of a file that stands at its beginning."""
    skipped = _skip(file, first - 1)
    if skipped is None or skipped < first - 1:
        return Window(first, (), skipped)
    lines, capped = _take(file, limit)
    if first == 1 and lines:
        lines[0] = lines[0].removeprefix(BOM)
    rest = _count(file)
    total = None if rest is None else skipped + len(lines) + rest
    return Window(first, tuple(lines), total, capped)


def _skip(file: BufferedReader, count: int) -> int | None:
    """Go `count` lines on; how many there were, which is less at the end of the file. None: behind SCANNED."""
    left, ended = count, True
    while left:
        chunk = file.read(_CHUNK)
        if not chunk:
            return count - left + (not ended)
        breaks = chunk.count(b"\n")
        if breaks >= left:
            file.seek(-len(chunk.split(b"\n", left)[-1]), 1)
            return count
        left, ended = left - breaks, chunk.endswith(b"\n")
        if file.tell() > SCANNED:
            return None
    return count


def _take(file: BufferedReader, limit: int) -> tuple[list[str], bool]:
    """Up to `limit` lines as they are shown, and whether BYTE_LIMIT was the reason to stop."""
    lines: list[str] = []
    size, at = -1, file.tell()
    while len(lines) < limit and at <= SCANNED:
        raw = file.readline(_LONGEST)
        if not raw:
            break
        line = _cut(shown(raw.removesuffix(b"\n").removesuffix(b"\r")))
        size += 1 + len(line.encode())
        if size > BYTE_LIMIT:
            file.seek(at)
            return lines, True
        lines.append(line)
        at += len(raw)
        if len(raw) == _LONGEST and not raw.endswith(b"\n"):
            _skip(file, 1)
            at = file.tell()
    return lines, False


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + _CUT


def _count(file: BufferedReader) -> int | None:
    """The lines from here to the end of the file; None when it goes on behind SCANNED."""
    count, ended = 0, True
    while file.tell() <= SCANNED:
        chunk = file.read(_CHUNK)
        if not chunk:
            return count + (not ended)
        count, ended = count + chunk.count(b"\n"), chunk.endswith(b"\n")
    return None
