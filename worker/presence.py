"""Presence: a worker's signs of life, by which all see which sessions wait for a worker, and which worker hangs."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from activities.store import hosts
from activities.store.database import Database
from activities.store.hosts import HostTaken
from workflows.domain.errors import Unavailable

_LOG: Final = logging.getLogger("holdfast.presence")


class Presence:
    """Gives signs of life while the worker takes tasks: in the database for its host, if it has one, and in a file.

    A host belongs to one data directory, `machine`. `taken` says that another one has it by now, as may happen to a
    worker that was frozen.
    """

    def __init__(self, database: Database, host: str | None, machine: str, file: Path | None = None) -> None:
        self.database = database
        self.host = host
        self.machine = machine
        self.file = file
        self.taken: HostTaken | None = None

    async def run(self, ending: asyncio.Event) -> None:
        """Give signs of life until cancelled, or until the host is another machine's: then `ending` is set."""
        while self.host is not None or self.file is not None:
            try:
                await self.show()
            except (Unavailable, OSError) as error:
                _LOG.info("no sign of life given: %s", error)
            except HostTaken as error:
                _LOG.error("this worker ends: %s", error)
                self.taken = error
                ending.set()
                return
            except Exception:  # nobody would notice its end
                _LOG.exception("no sign of life given")
            await asyncio.sleep(hosts.EVERY)

    async def show(self) -> None:
        """Give one sign. The file is no matter of the database: a worker that waits for that one is well.

        Raises HostTaken, Unavailable.
        """
        if self.file is not None:
            self.file.touch()
        await self.claim()

    async def claim(self) -> None:
        """Have the host, if there is one: before a worker takes tasks of it. Raises HostTaken, Unavailable."""
        if self.host is not None:
            await hosts.seen(self.database, self.host, self.machine)
