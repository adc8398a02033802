"""The sweeper: resends lost signals, wakes sessions with work but no open run.

Spreads grants to their project's sessions that the granting door did not reach.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.session import answers
from activities.store import grants, outbox, reconcile, sessions
from activities.store.database import Database
from activities.store.reconcile import WaitingSession
from worker.background_tasks import every
from worker.outbox import WORKFLOW_TYPE, SignalSender, workflow_id
from workflows.domain.errors import Unavailable
from workflows.domain.ids import GrantId, SessionId

INTERVAL: Final = 3.0  # seconds
_LOCK: Final = 0x73776570  # advisory lock: "swep"
_IDLE_TIMEOUT: Final = 10  # seconds after which a silent sweeper loses the lock
_GRACE: Final = timedelta(seconds=2)  # a signal in progress is not lost
_RUNNING: Final = f"WorkflowType = '{WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'"
_LIST_BACKOFF: Final = 20.0  # pause between listings, in durations of a listing
_MAX_ACTIVITY_ATTEMPTS: Final = 5  # attempts of one activity
_MAX_TASK_ATTEMPTS: Final = 3  # attempts of one workflow task (temporal.md 12)
_LOG: Final = logging.getLogger("holdfast.sweeper")


class Sweeper:
    """Runs in every worker, works in one; signals no run that is merely behind."""

    def __init__(
        self, database: Database, client: Client, sender: SignalSender, list_backoff: float = _LIST_BACKOFF
    ) -> None:
        self.database = database
        self.client = client
        self.sender = sender
        self.list_backoff = list_backoff
        self._next_listing = 0.0  # the event loop's clock

    async def run(self) -> None:
        """Sweep until cancelled; waits out outages."""
        await every(INTERVAL, self.sweep, _LOG)

    async def sweep(self) -> None:
        """One pass over what waits.

        Thousands may wait for people: one listing of the engine's runs covers them all; the longer it takes, the rarer
        it is.
        """
        async with sweep_lock(self.database) as mine:
            if not mine:
                return
            before = await self.database.now() - _GRACE
            for each in await outbox.overdue(self.database):
                await self.send(each)
            running = await self.open_runs()
            for session in await reconcile.waiting(self.database, _GRACE.total_seconds()):
                if not session.resting or (running is not None and workflow_id(session.session) not in running):
                    await self.check_session(session)
            for grant in await grants.unpropagated(self.database, before):
                await self.spread(grant)

    async def send(self, session: SessionId) -> None:
        """Send the session's signals; one failing session must not delay the others."""
        with suppress(Unavailable):
            await self.sender.send(session)

    async def open_runs(self) -> set[str] | None:
        """The open runs; None if listed recently. Raises Unavailable."""
        clock = asyncio.get_running_loop().time
        began = clock()
        if began < self._next_listing:
            return None
        try:
            running = {run.id async for run in self.client.list_workflows(_RUNNING)}
        except RPCError as error:
            raise Unavailable(f"Temporal does not list the open runs: {error}") from error
        self._next_listing = clock() + self.list_backoff * (clock() - began)
        return running

    async def spread(self, grant: GrantId) -> None:
        """Apply a grant to its whole project; the next sweep signals the answers."""
        try:
            await answers.apply_project_grant(self.database, grant)
            await grants.mark_propagated(self.database, grant)
        except Unavailable as error:
            _LOG.info("grant %s has not reached its project yet: %s", grant, error)
        except Exception:  # one grant must not delay the others
            _LOG.exception("grant %s does not reach its project", grant)

    async def check_session(self, waiting: WaitingSession) -> None:
        """Wake a session with work but no open run; report a stuck one."""
        run = await self.describe_run(waiting)
        running = run is not None and run.status is WorkflowExecutionStatus.RUNNING
        if not running and waiting.working:
            _LOG.info("waking session %s, which has work and no run", waiting.session)
            await reconcile.refresh(self.database, waiting.session)
            await self.send(waiting.session)
        why = stuck_reason(run) if run and running else None
        if why != waiting.stuck:
            await sessions.mark_stuck(self.database, waiting.session, why)

    async def describe_run(self, waiting: WaitingSession) -> WorkflowExecutionDescription | None:
        """A session's newest run, if any. Raises Unavailable."""
        try:
            return await self.client.get_workflow_handle(workflow_id(waiting.session)).describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise Unavailable(f"Temporal does not describe {waiting.session}: {error}") from error
            return None


@asynccontextmanager
async def sweep_lock(database: Database) -> AsyncIterator[bool]:
    """Whether this process may sweep now: one at a time, but for one that was frozen meanwhile."""
    async with database.advisory_lock(_LOCK, idle_timeout=_IDLE_TIMEOUT) as mine:
        yield mine


def stuck_reason(run: WorkflowExecutionDescription) -> str | None:
    """Why the run is stuck: a workflow task or activity keeps failing; else None.

    An absent provider or database does not count: these are waited for.
    """
    task = run.raw_description.pending_workflow_task
    if task.attempt >= _MAX_TASK_ATTEMPTS:
        return f"its workflow task has failed {task.attempt - 1} times; the worker's log says why"
    for pending in run.raw_description.pending_activities:
        kind = pending.last_failure.application_failure_info.type
        if pending.attempt > _MAX_ACTIVITY_ATTEMPTS and kind not in ("", "ProviderFailed", "Unavailable"):
            return f"its activity {pending.activity_type.name} has failed {pending.attempt - 1} times: {kind}"
    return None
