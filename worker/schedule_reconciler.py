"""Has Temporal keep the schedules of the rows, and fires what it has let pass."""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from activities.session import scheduled_prompts
from activities.store import schedules
from activities.store.database import Database
from activities.store.schedules import EngineSchedule
from worker.engine_schedules import EngineSchedules
from worker.outbox import SignalSender
from workflows.domain.errors import Unavailable
from workflows.domain.ids import ScheduleId

_GRACE: Final = 10.0  # seconds that Temporal has to fire by itself
_LOG: Final = logging.getLogger("holdfast.schedules")


class ScheduleReconciler:
    """The rows say which schedules there are, and what is due by them: Temporal only wakes at their moments.

    Once per `period` all of Temporal's are compared with the rows.
    """

    def __init__(self, database: Database, engine: EngineSchedules, sender: SignalSender, period: float) -> None:
        self.database = database
        self.engine = engine
        self.sender = sender
        self.period = period
        self._compared = float("-inf")  # by the event loop's clock

    async def reconcile(self) -> None:
        """Raises Unavailable for the database."""
        for schedule in await schedules.overdue(self.database, _GRACE):
            await self.fire(schedule)
        for each in await schedules.unsent(self.database):
            await self.send(each)
        now = asyncio.get_running_loop().time()
        if now - self._compared >= self.period:
            self._compared = now
            await self.compare()

    async def fire(self, schedule: ScheduleId) -> None:
        try:
            fired = await scheduled_prompts.fire(self.database, schedule)
            if fired is not None:
                _LOG.info("schedule %s has prompted session %s", schedule, fired.session)
                with suppress(Unavailable):  # the next sweep sends its signal
                    await self.sender.send(fired.session)
        except Unavailable as error:
            _LOG.info("schedule %s does not fire yet: %s", schedule, error)
        except Exception:  # one schedule must not delay the others
            _LOG.exception("schedule %s does not fire", schedule)

    async def send(self, schedule: EngineSchedule) -> None:
        """Have Temporal take or delete a schedule; its row says if Temporal refuses."""
        try:
            if schedule.wanted:
                await self.engine.create(schedule)
            else:
                await self.engine.delete(schedule.id)
        except Unavailable as error:
            if str(error) != schedule.trouble:
                _LOG.warning("%s", error)
                await schedules.mark_sent(self.database, schedule, str(error))
        else:
            await schedules.mark_sent(self.database, schedule)

    async def compare(self) -> None:
        """Make again what Temporal has lost, delete what has no row that is active."""
        try:
            there = await self.engine.list_own()  # before the rows: who makes one commits its row first
        except Unavailable as error:
            _LOG.info("schedules are not compared: %s", error)
            return
        wanted = {each.id: each for each in await schedules.wanted(self.database)}
        for schedule in there - wanted.keys():
            with suppress(Unavailable):
                await self.engine.delete(schedule)
                _LOG.info("schedule %s is deleted in Temporal: it is not active", schedule)
        for missing in wanted.keys() - there:
            await self.send(wanted[missing])
