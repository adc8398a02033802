"""A command's output on disk."""

import os
import shutil
from pathlib import Path
from typing import Final

from workflows.domain.context.truncate import OutputLimits, Tail, tail

LIVE_CHARACTERS: Final = 30_000  # of a running command, for watchers (opencode.md 3.4)


def size(spool: Path) -> int:
    try:
        return spool.stat().st_size
    except FileNotFoundError:
        return 0


def live_tail(spool: Path) -> str:
    """The last LIVE_CHARACTERS, with a mark if there are more."""
    text = _end(spool, 4 * LIVE_CHARACTERS)
    return text if len(text) <= LIVE_CHARACTERS else f"...\n\n{text[-LIVE_CHARACTERS:]}"


def read_tail(spool: Path, limits: OutputLimits) -> Tail:
    text = _end(spool, limits.max_bytes + 4)  # 4: a character cut in two falls outside the limit
    return tail(text, limits)


def preserve(spool: Path, path: Path) -> None:
    """Keep the complete output when the private directory goes. Idempotent."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        return
    try:
        os.link(spool, path)
    except OSError:  # another file system
        shutil.copyfile(spool, path)


def _end(spool: Path, count: int) -> str:
    """The end of the output as text. Invalid UTF-8 becomes U+FFFD, so the text is no shorter than the bytes."""
    try:
        with spool.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - count))
            return file.read(count).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
