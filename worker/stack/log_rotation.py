"""Log rotation: copies a long log and truncates it in place.

Servers and worker keep logs open for months; they would append to a moved file.
"""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from worker.stack.layout import Layout

_INTERVAL: Final = 10.0  # seconds
_MEGABYTE: Final = 2**20


async def rotate_logs(layout: Layout, megabytes: float) -> None:
    """Until cancelled; keeps one older piece of each log."""
    while True:
        await asyncio.to_thread(rotate_long_logs, layout, megabytes)
        await asyncio.sleep(_INTERVAL)


def rotate_long_logs(layout: Layout, megabytes: float) -> None:
    for log in layout.logs.glob("*.log"):
        with suppress(OSError):  # the next round may succeed
            if log.stat().st_size > megabytes * _MEGABYTE:
                rotate(log)


def rotated_path(log: Path) -> Path:
    return log.with_suffix(".log.old")


def rotate(log: Path) -> None:
    """Copy aside and empty; loses lines of the microseconds between.

    On a full disk, drop the older piece, then the lines themselves.
    """
    scratch = log.with_suffix(".log.new")
    with log.open("r+b") as file:
        try:
            with scratch.open("wb") as copy:
                shutil.copyfileobj(file, copy)
            scratch.replace(rotated_path(log))
        except OSError:
            scratch.unlink(missing_ok=True)
            rotated_path(log).unlink(missing_ok=True)
        file.truncate(0)
