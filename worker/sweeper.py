"""The sweeper: resends signals, gives sessions the results of background tasks, repairs stuck sessions, keeps
schedules, spreads grants."""

import logging
from contextlib import AbstractAsyncContextManager, suppress
from datetime import timedelta
from typing import Final

from activities.session import answers
from activities.session.task_results import deliver_results
from activities.store import grants, outbox, tasks
from activities.store.database import Database
from worker.background_tasks import every
from worker.outbox import SignalSender
from worker.reconcile import Reconciler
from worker.schedule_reconciler import ScheduleReconciler
from workflows.domain.errors import Unavailable
from workflows.domain.ids import GrantId

INTERVAL: Final = 3.0  # seconds
_LOCK: Final = 0x73776570  # advisory lock: "swep"
_IDLE_TIMEOUT: Final = 10  # seconds after which a silent sweeper loses the lock
_GRACE: Final = timedelta(seconds=2)  # a grant that is being spread needs no help
_LOG: Final = logging.getLogger("holdfast.sweeper")


class Sweeper:
    """Runs in every worker, works in one."""

    def __init__(
        self, database: Database, sender: SignalSender, reconciler: Reconciler, schedules: ScheduleReconciler
    ) -> None:
        self.database = database
        self.sender = sender
        self.reconciler = reconciler
        self.schedules = schedules

    async def run(self) -> None:
        await every(INTERVAL, self.sweep, _LOG)

    async def sweep(self) -> None:
        async with sweep_lock(self.database) as mine:
            if not mine:
                return
            for session in await outbox.overdue(self.database):
                with suppress(Unavailable):  # one failing session must not delay the others
                    await self.sender.send(session)
            await deliver_results(self.database, await tasks.due(self.database), self.sender.send)
            await self.reconciler.reconcile()
            await self.schedules.reconcile()
            for grant in await grants.unpropagated(self.database, await self.database.now() - _GRACE):
                await self.spread(grant)

    async def spread(self, grant: GrantId) -> None:
        """The next sweep signals the answers."""
        try:
            await answers.apply_project_grant(self.database, grant)
            await grants.mark_propagated(self.database, grant)
        except Unavailable as error:
            _LOG.info("grant %s has not reached its project yet: %s", grant, error)
        except Exception:  # one grant must not delay the others
            _LOG.exception("grant %s does not reach its project", grant)


def sweep_lock(database: Database) -> AbstractAsyncContextManager[bool]:
    """Whether this process may sweep now: one at a time, but for one that was frozen meanwhile."""
    return database.advisory_lock(_LOCK, idle_timeout=_IDLE_TIMEOUT)
