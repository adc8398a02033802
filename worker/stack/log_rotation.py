"""Log rotation: copies a long log and truncates it in place.

Servers and worker keep logs open for months; they would append to a moved file.
"""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from worker.stack.layout import Layout

_EVERY: Final = 10.0  # seconds
_MEGABYTE: Final = 2**20


class LogRotator:
    """Limits each log's size, keeping one older piece."""

    def __init__(self, layout: Layout, megabytes: float) -> None:
        self._layout = layout
        self._max_bytes = int(megabytes * _MEGABYTE)

    async def run(self) -> None:
        """Rotate logs until cancelled."""
        while True:
            await asyncio.to_thread(self.rotate_all)
            await asyncio.sleep(_EVERY)

    def rotate_all(self) -> None:
        """Rotate the logs that have grown long."""
        for log in self._layout.logs.glob("*.log"):
            with suppress(OSError):  # the next round may succeed
                if log.stat().st_size > self._max_bytes:
                    rotate(log)


def rotated_path(log: Path) -> Path:
    """The path of a log's older piece."""
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
