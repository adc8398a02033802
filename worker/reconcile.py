"""Reconcile: repairs sessions with work whose runs do not do it."""

import asyncio
import logging
from functools import partial
from itertools import chain
from typing import Final

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.session.reconcile import repair, settle_aside
from activities.store import reconcile, reservations, sessions
from activities.store.database import Database
from activities.store.reconcile import DueSession
from activities.store.reservations import AsideReservation
from worker.connect import is_served
from worker.outbox import SignalSender, queue, workflow_id
from workflows.domain.errors import Unavailable
from workflows.domain.ids import aside_id
from workflows.domain.repairs import Repair

_BUDGET: Final = 1.0  # seconds of one pass: signals wait for it
_MAX_ACTIVITY_ATTEMPTS: Final = 5
_MAX_TASK_ATTEMPTS: Final = 3  # (temporal.md 12)
_PAUSED: Final = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED
_OPEN: Final = (WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING, _PAUSED)
_WAITS: Final = ("", "ProviderFailed", "Unavailable", "WorkerShutdown")  # types of failures
_LOG: Final = logging.getLogger("holdfast.reconcile")


class Reconciler:
    """Repairs what a lost signal or a broken run leaves undone: rows, not signals, are what is due.

    Compares sessions that have not moved for `period` seconds with their runs, once per period, and what
    side work has reserved with its workflows.
    """

    def __init__(self, database: Database, client: Client, sender: SignalSender, period: float) -> None:
        self.database = database
        self.client = client
        self.sender = sender
        self.period = period
        self._checked: dict[str, float] = {}  # by the event loop's clock

    async def reconcile(self) -> None:
        """One short pass; the next one goes on. Raises Unavailable."""
        await reconcile.clear_stuck(self.database, self.period)
        clock = asyncio.get_running_loop().time
        began = clock()
        self._checked = {id: at for id, at in self._checked.items() if at > began - self.period}
        due = await reconcile.due(self.database, self.period)
        held = await reservations.of_asides(self.database, self.period)
        checks = {each.session: partial(self.check, each) for each in due}
        settlements = {each.generation: partial(self.settle, each) for each in held}
        for id, compare in chain(checks.items(), settlements.items()):
            if id in self._checked:
                continue
            if clock() - began > _BUDGET:
                break
            self._checked[id] = clock()
            try:
                await compare()
            except Unavailable as error:
                _LOG.info("%s is not compared with its run: %s", id, error)
            except Exception:  # one must not delay the others
                _LOG.exception("%s is not compared with its run", id)

    async def settle(self, held: AsideReservation) -> None:
        """Settle what side work has reserved, if its workflow is over: none of its activities runs any more. Raises
        Unavailable."""
        run = await self.describe_run(aside_id(held.session, held.generation))
        if run is None and await settle_aside(self.database, held):
            _LOG.info("the reservation of %s is settled: nothing asks for it any more", held.generation)

    async def check(self, due: DueSession) -> None:
        """Repair the session, unless its run is about to do something. Raises Unavailable."""
        run = await self.describe_run(workflow_id(due.session))
        unserved = await self.unserved_queue(run, due) if run is not None else None
        why = unserved or (stuck_reason(run) if run is not None else None)
        if why != due.stuck:
            await sessions.mark_stuck(self.database, due.session, why)
        if run is not None and unserved is None and is_busy(run):
            return
        run_id = run.workflow_execution_info.execution.run_id if run is not None else None
        chosen = await repair(self.database, due, run_id, unserved=unserved is not None)
        if chosen is None:
            return
        _LOG.info("session %s does not move: %s", due.session, chosen)
        if chosen is Repair.RESTART and run is not None:
            await self.terminate(run)
        if chosen is not Repair.SUSPEND:
            await self.sender.send(due.session)

    async def unserved_queue(self, run: DescribeWorkflowExecutionResponse, due: DueSession) -> str | None:
        """That the run waits for workers of another queue than ours, where none is: of an earlier setting, or of
        another tool. Raises Unavailable."""
        waits_on = run.execution_config.task_queue.name
        if waits_on == queue(self.sender.settings.task_queue, due.host) or await is_served(self.client, waits_on):
            return None
        return f"its run waits for a worker of task queue {waits_on!r}, and there is none"

    async def describe_run(self, workflow: str) -> DescribeWorkflowExecutionResponse | None:
        """The open run, if any. Raises Unavailable."""
        request = DescribeWorkflowExecutionRequest(
            namespace=self.client.namespace, execution=WorkflowExecution(workflow_id=workflow)
        )
        try:  # the client's own `describe` fails for a paused run
            run = await self.client.workflow_service.describe_workflow_execution(request, retry=True)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise Unavailable(f"Temporal does not describe {workflow}: {error}") from error
            return None
        return run if run.workflow_execution_info.status in _OPEN else None

    async def terminate(self, run: DescribeWorkflowExecutionResponse) -> None:
        """Raises Unavailable."""
        execution = run.workflow_execution_info.execution
        try:
            handle = self.client.get_workflow_handle(execution.workflow_id, run_id=execution.run_id)
            await handle.terminate(reason="It does not move; its rows have everything.")
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise Unavailable(f"Temporal does not terminate run {execution.run_id}: {error}") from error


def is_busy(run: DescribeWorkflowExecutionResponse) -> bool:
    """Whether a run has an activity, or a workflow task that does not fail, or is paused."""
    waits = run.HasField("pending_workflow_task")
    return (
        bool(run.pending_activities)
        or (waits and run.pending_workflow_task.attempt < _MAX_TASK_ATTEMPTS)
        or run.workflow_execution_info.status == _PAUSED
    )


def stuck_reason(run: DescribeWorkflowExecutionResponse) -> str | None:
    """Which workflow task or activity keeps failing, if any, or that an operator has paused the run.

    What is waited for does not count: a provider, a database, other sessions' share of a budget, another worker.
    """
    if run.workflow_execution_info.status == _PAUSED:
        return f"its run is paused: `temporal workflow unpause -w {run.workflow_execution_info.execution.workflow_id}`"
    task = run.pending_workflow_task
    if task.attempt >= _MAX_TASK_ATTEMPTS:
        return f"its workflow task has failed {task.attempt - 1} times; the worker's log says why"
    for pending in run.pending_activities:
        kind = pending.last_failure.application_failure_info.type
        if pending.attempt > _MAX_ACTIVITY_ATTEMPTS and kind not in _WAITS:
            return f"its activity {pending.activity_type.name} has failed {pending.attempt - 1} times: {kind}"
    return None
