"""Presence: a worker says that its host has one, so that everybody can see which sessions wait for a worker."""

import asyncio
import logging
from typing import Final

from activities.store import hosts
from activities.store.database import Database
from workflows.domain.errors import Unavailable

_LOG: Final = logging.getLogger("holdfast.presence")


class Presence:
    """Gives a sign of life every few seconds while the worker takes tasks. Nobody needs one where no host is named."""

    def __init__(self, database: Database, host: str | None) -> None:
        self.database = database
        self.host = host

    async def run(self) -> None:
        """Give signs of life until cancelled."""
        while self.host is not None:
            try:
                await hosts.seen(self.database, self.host)
            except Unavailable as error:
                _LOG.info("no sign of life given: %s", error)
            except Exception:  # nobody would notice its end
                _LOG.exception("no sign of life given")
            await asyncio.sleep(hosts.EVERY)
