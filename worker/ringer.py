"""The ringer: rings for doors that pass their bells on, as commands do, which are over before they reach the engine."""

import asyncio
import logging
from contextlib import aclosing
from typing import Final

from activities.store import bells
from activities.store.bells import Bell
from activities.store.database import Database
from worker.bells import Bells
from workflows.domain.errors import HoldfastError, Unavailable

_PAUSE: Final = 1.0  # seconds until a connection that broke is opened again
_LOG: Final = logging.getLogger("holdfast.ringer")


class Ringer:
    """Rings at once for whoever has committed a row. What it does not ring, the door rings itself, or the sweeper."""

    def __init__(self, database: Database, ringer: Bells) -> None:
        self.database = database
        self.bells = ringer

    async def run(self) -> None:
        """Listen until cancelled, and ring each bell by itself; an outage is waited out."""
        async with asyncio.TaskGroup() as ringing:
            while True:
                try:
                    async with aclosing(bells.passed_on(self.database)) as passed:
                        async for bell in passed:
                            ringing.create_task(self.ring(bell))
                except Unavailable as error:
                    _LOG.info("not listening: %s", error)
                except Exception:  # nobody would notice its end
                    _LOG.exception("not listening")
                await asyncio.sleep(_PAUSE)

    async def ring(self, bell: str) -> None:
        """Ring for a door, which may be of another release."""
        try:
            await self.bells.ring(Bell.model_validate_json(bell))
        except HoldfastError as error:
            _LOG.info("not rung: %s", error)
        except Exception:  # as above
            _LOG.exception("not rung")
