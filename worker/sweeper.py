"""The sweeper: rings again for rows whose bell was lost, and for sessions that have work and no open run.

It also lets grants reach the sessions of their project that the door which gave them did not get to.
"""

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from typing import Final

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.session import answers
from activities.store import bells, grants, sessions
from activities.store.bells import Bell, BellKind, Waiting
from activities.store.database import Database
from worker.bells import WORKFLOW, Bells, workflow_id
from workflows.domain.errors import Unavailable
from workflows.domain.ids import GrantId

EVERY: Final = 3.0  # seconds
_FRESH: Final = timedelta(seconds=2)  # a bell that a door is just ringing is not lost
_RUNNING: Final = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
_RARELY: Final = 20.0  # a list of all runs is asked for again after so many times as long as it took
_FAILING: Final = 5  # attempts of one activity
_STUCK: Final = 3  # attempts of one workflow task (temporal.md 12)
_LOG: Final = logging.getLogger("holdfast.sweeper")


class Sweeper:
    """Runs in every worker, works in one of them at a time; never rings at a run that merely has not come to it yet."""

    def __init__(self, database: Database, client: Client, ringer: Bells, rarely: float = _RARELY) -> None:
        self.database = database
        self.client = client
        self.bells = ringer
        self.rarely = rarely
        self._listed_until = 0.0  # by the event loop's clock

    async def run(self) -> None:
        """Sweep until cancelled; an outage is waited out."""
        while True:
            try:
                await self.sweep()
            except (Unavailable, RPCError) as error:
                _LOG.info("not swept: %s", error)
            except Exception:  # nobody would notice its end: what one sweep trips over, the next may not
                _LOG.exception("not swept")
            await asyncio.sleep(EVERY)

    async def sweep(self) -> None:
        """One look at everything that waits.

        Sessions that wait for people, and those above them, may be thousands: while the engine lists their runs, they
        cost nothing more, and the more there are, the more rarely it is asked to.
        """
        async with bells.sweeping(self.database) as mine:
            if not mine:
                return
            before = await self.database.now() - _FRESH
            for bell in await bells.undelivered(self.database, before):
                with suppress(Unavailable):  # one session that cannot be rung must not keep the others waiting
                    await self.bells.ring(bell)
            running = await self.listed()
            for session in await bells.waiting(self.database, _FRESH.total_seconds()):
                if not session.resting or (running is not None and workflow_id(session.session) not in running):
                    await self.look_at(session)
            for grant in await grants.unspread(self.database, before):
                await self.spread(grant)

    async def listed(self) -> set[str] | None:
        """The open runs; None where they were listed not long ago."""
        clock = asyncio.get_running_loop().time
        began = clock()
        if began < self._listed_until:
            return None
        running = {run.id async for run in self.client.list_workflows(_RUNNING)}
        self._listed_until = clock() + self.rarely * (clock() - began)
        return running

    async def spread(self, grant: GrantId) -> None:
        """Let a grant reach its whole project; what it answers is undelivered, and rung by the next sweep."""
        try:
            await answers.spread(self.database, grant)
            await grants.spread(self.database, grant)
        except Unavailable as error:
            _LOG.info("grant %s has not reached its project yet: %s", grant, error)
        except Exception:  # one grant must not keep the others waiting
            _LOG.exception("grant %s does not reach its project", grant)

    async def look_at(self, waiting: Waiting) -> None:
        """Wake a session that has work and no open run; say of one that cannot go on that it is stuck."""
        run = await self.run_of(waiting)
        running = run is not None and run.status is WorkflowExecutionStatus.RUNNING
        if not running and waiting.working:
            _LOG.info("waking session %s, which has work and no run", waiting.session)
            with suppress(Unavailable):
                await self.bells.ring(Bell(kind=BellKind.PROMPT, id=waiting.prompt or "", session=waiting.session))
        why = stuck(run) if run and running else None
        if why != waiting.stuck:
            await sessions.mark_stuck(self.database, waiting.session, why)

    async def run_of(self, waiting: Waiting) -> WorkflowExecutionDescription | None:
        try:
            return await self.client.get_workflow_handle(workflow_id(waiting.session)).describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return None


def stuck(run: WorkflowExecutionDescription) -> str | None:
    """Why the run cannot go on, if it cannot: its workflow task, or an activity of it, keeps failing.

    A provider or a database that is away is no such reason: both are waited for, and shown as that.
    """
    task = run.raw_description.pending_workflow_task
    if task.attempt >= _STUCK:
        return f"its workflow task has failed {task.attempt - 1} times; the worker's log says why"
    for pending in run.raw_description.pending_activities:
        kind = pending.last_failure.application_failure_info.type
        if pending.attempt > _FAILING and kind not in ("", "ProviderFailed", "Unavailable"):
            return f"its activity {pending.activity_type.name} has failed {pending.attempt - 1} times: {kind}"
    return None
