"""A stack's sizes, retention and stuck sessions."""

import asyncio
import os
from pathlib import Path

from activities.calls import output
from activities.store import pg_server, reconcile
from worker.settings import Settings
from worker.stack.layout import Layout
from worker.stack.state_file import Endpoints
from worker.stack.status import Retention, StackSizes
from workflows.domain.errors import Unavailable

_DAY = 24 * 3600


async def measure_sizes(settings: Settings, endpoints: Endpoints | None) -> StackSizes:
    """Measure the files and the database: an external one, else that at `endpoints`."""
    layout = Layout(home=settings.home)
    folders = (layout.temporal, *(layout.home / name for name in ("calls", "tool-output", "archive", "logs")))
    temporal, calls, outputs, archives, logs = await asyncio.to_thread(lambda: [*map(_size, folders)])
    return StackSizes(
        postgres=await _database(_url(settings, endpoints)),
        temporal=None if settings.external_temporal else temporal,
        outputs=calls + outputs,
        archives=archives,
        logs=logs,
    )


def retention(settings: Settings) -> Retention:
    """How long the database keeps sessions, and the home outputs."""
    runs = None if settings.external_temporal else settings.retention_days
    return Retention(sessions=settings.archive_after_days, outputs=output.RETENTION_SECONDS / _DAY, runs=runs)


async def count_stuck(settings: Settings, endpoints: Endpoints | None) -> int | None:
    """How many sessions cannot go on; None if the database does not say it."""
    url = _url(settings, endpoints)
    try:
        return (await reconcile.lately(url)).stuck if url is not None else None
    except Unavailable:
        return None


def _url(settings: Settings, endpoints: Endpoints | None) -> str | None:
    return settings.postgres_url or (endpoints.postgres_url if endpoints is not None else None)


async def _database(url: str | None) -> int | None:
    if url is None:
        return None
    try:
        return await pg_server.database_size(url)
    except Unavailable:
        return None


def _size(folder: Path) -> int:
    """Vanished files count nothing."""
    found = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                found += (Path(directory) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return found
