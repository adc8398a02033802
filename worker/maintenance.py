"""Maintenance: what a worker removes or moves away by itself, now and again. No job asks a model."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

from activities.archive import deleted_files
from activities.archive.archiver import Archiver
from activities.calls import output
from activities.shell import retention
from activities.shell.left_processes import find_left
from activities.store import calls, deltas, sessions
from activities.store.database import Database
from worker.background_tasks import every

HOURLY: Final = 3600.0  # seconds (opencode.md 12.5)
_LOG: Final = logging.getLogger("holdfast.maintenance")


class JobScope(StrEnum):
    """What a job works on; several workers of it may do it at once."""

    FILES = "files"  # of a data directory
    HOST = "host"  # its sessions
    DATABASE = "database"


@dataclass(frozen=True)
class MaintenanceJob:
    """`interval`: seconds; a failure waits for the next time."""

    id: str
    scope: JobScope
    work: Callable[[], Awaitable[object]]
    interval: float = HOURLY

    def run(self) -> Coroutine[Any, Any, None]:
        """Run the job regularly until cancelled."""
        return every(self.interval, self.work, _LOG.getChild(self.id))


def maintenance_jobs(
    database: Database, data: Path, archive_after: timedelta | None = None, host: str | None = None
) -> Sequence[MaintenanceJob]:
    """The registry. `data`: Holdfast's directory; `host`'s sessions that are idle for `archive_after` are archived."""
    archiver = Archiver(database, data, host)
    jobs = [
        MaintenanceJob("outputs", JobScope.FILES, partial(_delete_outputs, data)),
        MaintenanceJob("calls", JobScope.FILES, partial(_delete_calls, database, data)),
        MaintenanceJob("deleted", JobScope.FILES, partial(_remove_deleted, database, data, host)),
        MaintenanceJob("processes", JobScope.FILES, partial(_end_left_processes, database, data), interval=5.0),
        MaintenanceJob("deltas", JobScope.DATABASE, partial(_delete_deltas, database)),
    ]
    if archive_after is not None:
        archive = partial(_archive, database, archiver, archive_after)
        jobs.append(MaintenanceJob("archives", JobScope.HOST, archive))
    return jobs


async def _delete_outputs(data: Path) -> None:
    """Files age by this machine's clock, rows by the database's."""
    gone = await asyncio.to_thread(output.delete_old_outputs, data / "tool-output", time.time())
    if gone:
        _LOG.info("removed %d old outputs", len(gone))


async def _delete_calls(database: Database, data: Path) -> None:
    unsettled = await calls.claimed(database)
    gone = await asyncio.to_thread(retention.remove_expired, data / "calls", time.time(), unsettled)
    if gone:
        _LOG.info("removed the files of %d old calls", len(gone))


async def _remove_deleted(database: Database, data: Path, host: str | None) -> None:
    """Remove what is left here of sessions that were deleted on another host, or whose deletion was cut short."""
    failures = await deleted_files.remove_deleted_calls(database, data, host)
    archives = await deleted_files.remove_deleted_archives(database, data)
    for failure in failures:
        _LOG.warning("a file of a deleted call stays: %s", failure)
    if archives:
        _LOG.info("removed %d archives of deleted sessions", len(archives))


async def _end_left_processes(database: Database, data: Path) -> None:
    """End what calls of sessions that are over have left running here."""
    if not (left := await asyncio.to_thread(find_left, data)):
        return
    from activities.shell.termination import end_left_call  # start-up time: psutil

    over = await sessions.over(database, {each.session for each in left})
    for session, call in {(each.session, each.call) for each in left if each.session in over}:
        await asyncio.to_thread(end_left_call, data, call)
        _LOG.info("ended what call %s of %s had left running", call, session)


async def _delete_deltas(database: Database) -> None:
    await deltas.delete_old(database, await database.now() - timedelta(seconds=HOURLY))


async def _archive(database: Database, archiver: Archiver, after: timedelta) -> None:
    await archiver.archive_older_than(await database.now() - after)
