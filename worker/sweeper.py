"""The sweeper: resends signals, gives sessions the results of background tasks, repairs stuck sessions, keeps
schedules, spreads grants."""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Final

from activities.session import answers
from activities.session.task_results import deliver_results
from activities.store import grants, outbox, tasks
from activities.store.database import Database
from activities.store.pg_protocol import PipelinedConnection
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
        await every(INTERVAL, self.sweep_while_alone, _LOG)

    async def sweep_while_alone(self) -> None:
        """Sweep as long as we hold the lock; return if another worker does."""
        if await self.database.is_locked(_LOCK):  # a new connection would only learn the same
            return
        async with sweep_lock(self.database) as held:
            while held is not None:
                await self.sweep()
                await asyncio.sleep(INTERVAL)
                await held.rows(b"SELECT")  # fails if the connection is lost, and with it the lock

    async def sweep(self) -> None:
        for session in await outbox.overdue(self.database):
            await self.attempt(f"signals of {session}", self.sender.send(session))
        await self.attempt("results of background tasks", self.deliver())
        await self.attempt("the comparison of sessions with their runs", self.reconciler.reconcile())
        await self.attempt("schedules", self.schedules.reconcile())
        for grant in await grants.unpropagated(self.database, await self.database.now() - _GRACE):
            await self.attempt(f"the spreading of grant {grant}", self.spread(grant))

    async def attempt(self, what: str, work: Awaitable[None]) -> None:
        """What fails must not delay the rest."""
        try:
            await work
        except Unavailable as error:
            _LOG.info("not done yet: %s: %s", what, error)
        except Exception:
            _LOG.exception("not done: %s", what)

    async def deliver(self) -> None:
        await deliver_results(self.database, await tasks.ended(self.database), self.sender.send)

    async def spread(self, grant: GrantId) -> None:
        """The next sweep signals the answers."""
        await answers.apply_project_grant(self.database, grant)
        await grants.mark_propagated(self.database, grant)


def sweep_lock(database: Database) -> AbstractAsyncContextManager[PipelinedConnection | None]:
    """None unless this process may sweep: one at a time, but for one that was frozen meanwhile."""
    return database.advisory_lock(_LOCK, idle_timeout=_IDLE_TIMEOUT)
