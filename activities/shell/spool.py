"""The output of a command on the disk: only ever its end is read, and all of it is kept by a second name."""

import os
import shutil
from pathlib import Path
from typing import Final

from workflows.domain.context.tail import Tail, tail
from workflows.domain.context.truncate import Limits

LIVE_CHARACTERS: Final = 30_000  # what watchers see of a running command (opencode.md 3.4)


def size(spool: Path) -> int:
    """Bytes so far; none when nothing has been written, or nobody has begun."""
    try:
        return spool.stat().st_size
    except FileNotFoundError:
        return 0


def live(spool: Path) -> str:
    """The last characters, with a mark when there are more."""
    text = _end(spool, 4 * LIVE_CHARACTERS)
    return text if len(text) <= LIVE_CHARACTERS else f"...\n\n{text[-LIVE_CHARACTERS:]}"


def shortened(spool: Path, limits: Limits) -> Tail:
    """The end of the output within the limits for a model."""
    text = _end(spool, limits.max_bytes + 4)  # 4: so that a character cut in two is not in what is kept
    return tail(text, limits)


def keep(spool: Path, path: Path) -> None:
    """Give the complete output a place that outlives the private directory; a second time changes nothing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        return
    try:
        os.link(spool, path)
    except OSError:  # another file system
        shutil.copyfile(spool, path)


def _end(spool: Path, count: int) -> str:
    """The last `count` bytes as text; what is no UTF-8 becomes U+FFFD, so the text is not shorter than the bytes."""
    try:
        with spool.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - count))
            return file.read(count).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
