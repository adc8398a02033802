"""A command's output on disk."""

import os
import re
import shutil
from pathlib import Path
from typing import Final

from activities.files.lines import LINE_LIMIT, truncate_line
from workflows.domain.context.truncate import Excerpt, OutputLimits, excerpt

LIVE_CHARACTERS: Final = 30_000  # of a running command, for watchers (opencode.md 3.4)
_WINDOW: Final = 4  # times the limit: read at each end, as escape sequences and long lines shrink
_CHUNK: Final = 1 << 20
# Colours and the like, but not what erases a line: CSI; OSC; DCS, SOS, PM and APC; others (ECMA-48, 5.3 to 5.6)
_ESCAPES: Final = re.compile(
    r"\x1b(?!\[[02]?K)(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_][^\x1b\n]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_ERASURE: Final = re.compile(r"\x1b\[[02]?K")
_MOVES: Final = re.compile(rf"(\r|\x08+|{_ERASURE.pattern})")


def size(spool: Path) -> int:
    try:
        return spool.stat().st_size
    except FileNotFoundError:
        return 0


def live_tail(spool: Path) -> str:
    """The last LIVE_CHARACTERS, with a mark if there are more."""
    text = _end(spool, 4 * LIVE_CHARACTERS)
    return text if len(text) <= LIVE_CHARACTERS else f"...\n\n{text[-LIVE_CHARACTERS:]}"


def read_excerpt(spool: Path, limits: OutputLimits) -> Excerpt:
    """What a model is shown: beginning and end, each line as a terminal shows it in the end but for colours, and long
    ones cut as `read` cuts them."""
    window = _WINDOW * limits.max_bytes
    if size(spool) <= 2 * window:
        uncoloured = _ESCAPES.sub("", _end(spool, 2 * window))
        shown = _shorten_lines(uncoloured)
        found = excerpt(shown, limits)
        changed = found.part is None and shown != _ERASURE.sub("", uncoloured)
        return found._replace(part="all lines, long or overwritten ones shortened") if changed else found
    with spool.open("rb") as file:
        begin = file.read(window).decode("utf-8", "replace")
        file.seek(0)
        breaks = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
    end = _end(spool, window)
    at = end.find("\n", 0, -1)  # the window begins within a line
    end = end[-LINE_LIMIT:] if at < 0 else end[at + 1 :]
    begin, end = (_shorten_lines(_ESCAPES.sub("", text)) for text in (begin, end))
    return excerpt(begin, limits, end=end, lines=breaks)


def preserve(spool: Path, path: Path) -> None:
    """Keep the complete output when the private directory goes. Idempotent."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        return
    try:
        os.link(spool, path)
    except OSError:  # another file system
        shutil.copyfile(spool, path)


def _shorten_lines(text: str) -> str:
    lines = (_overwrite(line) if _MOVES.search(line) else line for line in text.split("\n"))
    return "\n".join(map(truncate_line, lines))


def _overwrite(line: str) -> str:
    """The line after all carriage returns, backspaces and erasures in it."""
    body, cells, at = line.rstrip("\r"), list[str](), 0
    for piece in _MOVES.split(body):
        match piece:
            case "\r":
                at = 0
            case "\x1b[K" | "\x1b[0K":
                del cells[at:]
            case "\x1b[2K":
                cells, at = [], 0
            case _ if piece.startswith("\b"):
                at = max(at - len(piece), 0)
            case _:
                cells[at : at + len(piece)] = piece
                at += len(piece)
    return "".join(cells) + line[len(body) :]


def _end(spool: Path, count: int) -> str:
    """The end of the output as text. Invalid UTF-8 becomes U+FFFD, so the text is no shorter than the bytes."""
    try:
        with spool.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - count))
            return file.read(count).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
