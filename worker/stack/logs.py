"""Logs that stay short: what has grown long is copied aside, and the file is emptied under its writers.

The servers and the worker keep their logs open for months and append to them, so a file that was moved away would go on
growing where nobody looks.
"""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from worker.stack.layout import Layout

_EVERY: Final = 10.0  # seconds
_MEGABYTE: Final = 2**20


class ShortLogs:
    """Keeps each log below a size, and one older piece of it."""

    def __init__(self, layout: Layout, megabytes: float) -> None:
        self._layout = layout
        self._longest = int(megabytes * _MEGABYTE)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(_EVERY)

    def look(self) -> None:
        """Shorten what has grown long."""
        for log in self._layout.logs.glob("*.log"):
            with suppress(OSError):  # the next look may have more luck
                if log.stat().st_size > self._longest:
                    shorten(log)


def older(log: Path) -> Path:
    """Where the older piece of a log lies."""
    return log.with_suffix(".log.old")


def shorten(log: Path) -> None:
    """Copy a log aside and empty it. Lines that are written in between the two, within microseconds, are lost.

    Where a full disk takes no copy, the older piece goes, and then the lines themselves.
    """
    scratch = log.with_suffix(".log.new")
    with log.open("r+b") as file:
        try:
            with scratch.open("wb") as copy:
                shutil.copyfileobj(file, copy)
            scratch.replace(older(log))
        except OSError:
            scratch.unlink(missing_ok=True)
            older(log).unlink(missing_ok=True)
        file.truncate(0)
