"""How much room a stack takes, and how long it keeps what."""

import asyncio
import os
from pathlib import Path

from activities.store import server
from activities.tools import output
from worker.settings import Settings
from worker.stack.layout import Layout
from worker.stack.state import Endpoints
from worker.stack.status import Kept, Sizes
from workflows.domain.errors import Unavailable

_DAY = 24 * 3600


async def measured(settings: Settings, places: Endpoints | None) -> Sizes:
    """Look at the files, and ask the database: an external one, else that of our stack at `places`, if it serves."""
    layout = Layout(home=settings.home)
    folders = (layout.temporal, *(layout.home / name for name in ("calls", "tool-output", "archive", "logs")))
    temporal, calls, outputs, archives, logs = await asyncio.to_thread(lambda: [*map(_size, folders)])
    url = settings.postgres_url or (places.postgres_url if places is not None else None)
    return Sizes(
        postgres=await _database(url),
        temporal=None if settings.external_temporal else temporal,
        outputs=calls + outputs,
        archives=archives,
        logs=logs,
    )


def kept(settings: Settings) -> Kept:
    """How long sessions stay in the database, and outputs in the home."""
    runs = None if settings.external_temporal else settings.retention_days
    return Kept(sessions=settings.archive_after_days, outputs=output.RETENTION / _DAY, runs=runs)


async def _database(url: str | None) -> int | None:
    if url is None:
        return None
    try:
        return await server.size(url)
    except Unavailable:
        return None


def _size(folder: Path) -> int:
    """What the files below take on the disk; files that go meanwhile count nothing."""
    found = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                found += (Path(directory) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return found
