"""Sends signals for doors, such as commands, that end before reaching the engine."""

import asyncio
import logging
from contextlib import aclosing
from typing import Final

from activities.store import bells
from activities.store.bells import Bell
from activities.store.database import Database
from worker.background_tasks import every
from worker.bells import Bells
from workflows.domain.errors import HoldfastError

_PAUSE: Final = 1.0  # seconds until a broken connection is reopened
_LOG: Final = logging.getLogger("holdfast.ringer")


class Ringer:
    """Sends signals for committed rows. The door itself or the sweeper covers the rest."""

    def __init__(self, database: Database, ringer: Bells) -> None:
        self.database = database
        self.bells = ringer

    async def run(self) -> None:
        """Listen until cancelled, sending each signal in its own task; waits out outages."""
        async with asyncio.TaskGroup() as ringing:
            await every(_PAUSE, lambda: self._listen(ringing), _LOG)

    async def _listen(self, ringing: asyncio.TaskGroup) -> None:
        async with aclosing(bells.passed_on(self.database)) as passed:
            async for bell in passed:
                ringing.create_task(self.ring(bell))

    async def ring(self, bell: str) -> None:
        """The door may be of another release."""
        try:
            await self.bells.ring(Bell.model_validate_json(bell))
        except HoldfastError as error:
            _LOG.info("not rung: %s", error)
        except Exception:  # an edge: the other signals go on
            _LOG.exception("not rung")
