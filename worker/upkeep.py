"""A worker's upkeep: old files of its machine, abandoned deltas, old sessions."""

import asyncio
import logging
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

from activities.archive import deleted_files
from activities.archive.archiver import Archiver
from activities.calls import output
from activities.shell import retention
from activities.store import calls, deltas
from activities.store.database import Database
from worker.background_tasks import every

INTERVAL: Final = 3600.0  # seconds (opencode.md 12.5)
_LOG: Final = logging.getLogger("holdfast.upkeep")


class Upkeep:
    """Clears `data`, Holdfast's directory, and archives `host`'s sessions that are idle for `archive_after`."""

    def __init__(
        self,
        database: Database,
        data: Path,
        archive_after: timedelta | None = None,
        host: str | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self.database = database
        self.data = data
        self.host = host
        self.archive_after = archive_after
        self.interval = interval

    async def run(self) -> None:
        await every(self.interval, lambda: self.clear(time.time()), _LOG)

    async def clear(self, local_time: float) -> None:
        """Files age by `local_time`, this machine's clock; rows by the database's."""
        outputs = await asyncio.to_thread(output.delete_old_outputs, self.data / "tool-output", local_time)
        unsettled = await calls.claimed(self.database)
        forgotten = await asyncio.to_thread(retention.remove_expired, self.data / "calls", local_time, unsettled)
        await self.remove_deleted()
        now = await self.database.now()
        await deltas.delete_old(self.database, now - timedelta(seconds=INTERVAL))
        if outputs or forgotten:
            _LOG.info("removed %d old outputs and %d old calls", len(outputs), len(forgotten))
        if self.archive_after is not None:
            await Archiver(self.database, self.data, self.host).archive_older_than(now - self.archive_after)

    async def remove_deleted(self) -> None:
        """What sessions that were deleted on another host, or whose deletion was cut short, have left here."""
        failures = await deleted_files.remove_deleted_calls(self.database, self.data, self.host)
        archives = await deleted_files.remove_deleted_archives(self.database, self.data)
        for failure in failures:
            _LOG.warning("a file of a deleted call stays: %s", failure)
        if archives:
            _LOG.info("removed %d archives of deleted sessions", len(archives))
