"""Presence: a worker's signs of life, by which all see which sessions wait for a worker, and which worker hangs."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from activities.store import hosts
from activities.store.database import Database
from workflows.domain.errors import Unavailable

_LOG: Final = logging.getLogger("holdfast.presence")


class Presence:
    """Gives signs of life while the worker takes tasks: in the database for its host, if it has one, and in a file."""

    def __init__(self, database: Database, host: str | None, file: Path | None = None) -> None:
        self.database = database
        self.host = host
        self.file = file

    async def run(self) -> None:
        """Give signs of life until cancelled."""
        while self.host is not None or self.file is not None:
            try:
                await self.show()
            except (Unavailable, OSError) as error:
                _LOG.info("no sign of life given: %s", error)
            except Exception:  # nobody would notice its end
                _LOG.exception("no sign of life given")
            await asyncio.sleep(hosts.EVERY)

    async def show(self) -> None:
        """Give one sign. The file is no matter of the database: a worker that waits for that one is well."""
        if self.file is not None:
            self.file.touch()
        if self.host is not None:
            await hosts.seen(self.database, self.host)
