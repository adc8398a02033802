"""A window of lines of a file of any size, in bounded memory and time."""

from dataclasses import dataclass
from io import BufferedReader
from typing import Final

from activities.files.text_file import BOM, decode_lossy

LINE_LIMIT: Final = 2000  # characters shown of one line (opencode.md 7.2)
BYTE_LIMIT: Final = 51_200  # bytes of all lines shown
MAX_SCANNED_BYTES: Final = 64 * 1024 * 1024  # bytes searched for lines, from the beginning of the file

_CHUNK: Final = 128 * 1024
_MAX_LINE_BYTES: Final = 4 * (LINE_LIMIT + 2)  # always more than LINE_LIMIT characters
_TRUNCATED_MARK: Final = f"... (line truncated to {LINE_LIMIT} chars)"


@dataclass(frozen=True)
class Window:
    """Lines from line `first` on, without their endings. `total`: None when the file is longer than MAX_SCANNED_BYTES.
    `capped`: the limit in bytes, where that ended the window."""

    first: int
    lines: tuple[str, ...]
    total: int | None
    capped: int | None = None

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def complete(self) -> bool:
        return self.total is not None and self.last >= self.total


def read_window(file: BufferedReader, first: int, limit: int, max_bytes: int = BYTE_LIMIT) -> Window:
    """Up to `limit` lines, of BYTE_LIMIT at most, from line `first` (from 1) of a file positioned at its beginning."""
    skipped = _skip_lines(file, first - 1)
    if skipped is None or skipped < first - 1:
        return Window(first, (), skipped)
    max_bytes = min(max_bytes, BYTE_LIMIT)
    lines, capped = _read_lines(file, limit, max_bytes)
    if first == 1 and lines:
        lines[0] = lines[0].removeprefix(BOM)
    rest = _count_remaining_lines(file)
    total = None if rest is None else skipped + len(lines) + rest
    return Window(first, tuple(lines), total, max_bytes if capped else None)


def _skip_lines(file: BufferedReader, count: int) -> int | None:
    """How many there were; None: beyond MAX_SCANNED_BYTES."""
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
        if file.tell() > MAX_SCANNED_BYTES:
            return None
    return count


def _read_lines(file: BufferedReader, limit: int, max_bytes: int) -> tuple[list[str], bool]:
    """The lines, at least one if there is one, and whether `max_bytes` ended them."""
    lines: list[str] = []
    size, at = -1, file.tell()
    while len(lines) < limit and at <= MAX_SCANNED_BYTES:
        raw = file.readline(_MAX_LINE_BYTES)
        if not raw:
            break
        line = truncate_line(decode_lossy(raw.removesuffix(b"\n").removesuffix(b"\r")))
        size += 1 + len(line.encode())
        if size > max_bytes and lines:
            file.seek(at)
            return lines, True
        lines.append(line)
        at += len(raw)
        if len(raw) == _MAX_LINE_BYTES and not raw.endswith(b"\n"):
            _skip_lines(file, 1)
            at = file.tell()
    return lines, False


def truncate_line(line: str) -> str:
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + _TRUNCATED_MARK


def _count_remaining_lines(file: BufferedReader) -> int | None:
    """How many lines remain; None beyond MAX_SCANNED_BYTES."""
    count, ended = 0, True
    while file.tell() <= MAX_SCANNED_BYTES:
        chunk = file.read(_CHUNK)
        if not chunk:
            return count + (not ended)
        count, ended = count + chunk.count(b"\n"), chunk.endswith(b"\n")
    return None
