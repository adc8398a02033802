"""Upkeep: what a worker clears away on its own machine, what nobody watches any more, and what is old."""

import asyncio
import logging
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

from activities.archive.archiving import Archivist
from activities.shell import forget
from activities.store import calls, deltas
from activities.store.database import Database
from activities.tools import output
from workflows.domain.errors import Unavailable

EVERY: Final = 3600.0  # seconds (opencode.md 12.5)
_LOG: Final = logging.getLogger("holdfast.upkeep")


class Upkeep:
    """Clears away at once, then `every` so many seconds; `data` is Holdfast's data directory. Sessions that rest for
    longer than `archive_after` are archived, if they are at home on the same `host`."""

    def __init__(
        self,
        database: Database,
        data: Path,
        archive_after: timedelta | None = None,
        host: str | None = None,
        every: float = EVERY,
    ) -> None:
        self.database = database
        self.data = data
        self.host = host
        self.archive_after = archive_after
        self.every = every

    async def run(self) -> None:
        """Clear away until cancelled."""
        while True:
            try:
                await self.clear(time.time())
            except Unavailable as error:
                _LOG.info("not cleared away: %s", error)
            except Exception:  # nobody would notice its end
                _LOG.exception("not cleared away")
            await asyncio.sleep(self.every)

    async def clear(self, here: float) -> None:
        """Remove outputs and calls that are old, and pieces of answers that never finished; archive old sessions.

        Files are as old as the clock of this machine says (`here`), rows as the database's does.
        """
        outputs = await asyncio.to_thread(output.forget_old, self.data / "tool-output", here)
        unsettled = await calls.claimed(self.database)
        forgotten = await asyncio.to_thread(forget.forget_old, self.data / "calls", here, unsettled)
        now = await self.database.now()
        await deltas.drop_old(self.database, now - timedelta(seconds=EVERY))
        if outputs or forgotten:
            _LOG.info("removed %d old outputs and %d old calls", len(outputs), len(forgotten))
        if self.archive_after is not None:
            await Archivist(self.database, self.data, self.host).all_since(now - self.archive_after)
