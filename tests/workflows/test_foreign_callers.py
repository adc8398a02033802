"""Foreign workflows can schedule our activities, which then do nothing."""

import uuid
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy, WorkflowIDConflictPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.harness import Harness
from tests.histories.history_scenarios import DONE, WRITE
from tests.workflows.conftest import Open
from worker.outbox import WORKFLOW_TYPE, workflow_id
from workflows.domain.events.sessions import CallerRefused
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.state import SessionState

LATER = 2**62
REQUESTS: dict[str, dict[str, Any]] = {
    "holdfast.tools.run": {},
    "holdfast.tools.refuse": {},
    "holdfast.model.generate": {"step": 2, "generation": "gen_1"},
    "holdfast.model.title": {"generation": "gen_1"},
    "holdfast.asks.open": {"ask": "per_1", "requests": [0], "revision": 0},
    "holdfast.turns.close": {"reason": "done", "end": True},
    "holdfast.project.load": {},
}


@workflow.defn(name="another", sandboxed=False)
class Another:
    """A foreign workflow that schedules one of our activities on our queue."""

    @workflow.run
    async def run(self, wanted: tuple[str, str, dict[str, Any]]) -> str | None:
        name, queue, request = wanted
        try:
            await workflow.execute_activity(
                name,
                request,
                task_queue=queue,
                start_to_close_timeout=timedelta(seconds=20),
                retry_policy=RetryPolicy(maximum_attempts=3),
            )
        except ActivityError as error:
            cause = error.cause
            return cause.type if isinstance(cause, ApplicationError) and cause.non_retryable else repr(cause)
        return None


async def scheduled(harness: Harness, name: str, request: dict[str, Any]) -> str | None:
    """Schedule this activity from a foreign workflow; why it was refused."""
    queue = uuid.uuid4().hex
    async with Worker(
        harness.temporal, task_queue=queue, workflows=[Another], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        wanted = (name, harness.settings.task_queue, request)
        refused: str | None = await harness.temporal.execute_workflow(
            Another.run, wanted, id=f"another/{queue}", task_queue=queue
        )
        return refused


async def test_a_foreign_workflow_gets_nothing_done_and_the_session_goes_on(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        (call,) = await harness.calls(session)
        before = len(await harness.events(session))
        turn = (await harness.client.sessions.get(session)).turn
        known = {"session": session, "epoch": LATER, "sequence": 1, "turn": turn, "call": call.id}
        for name, more in REQUESTS.items():
            assert await scheduled(harness, name, known | more) == "ForeignCaller", name
        logged = (await harness.events(session))[before:]
        assert [(event.type, event.activity) for event in logged if isinstance(event, CallerRefused)] == [
            ("caller.refused", name) for name in REQUESTS
        ]
        assert len(logged) == len(REQUESTS) and all("'another/" in str(event) for event in logged)
        await harness.answer(ask)
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.state is CallState.DONE and len(harness.model.ledger.entries) == 2


async def test_a_run_with_our_id_and_an_epoch_that_was_not_given_out_ends_and_takes_no_session_over(
    open_harness: Open,
) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        for _ in range(2):
            await forged(harness, session)
        await harness.answer(ask)
        ended = await harness.ended(session)
        logged = [event for event in await harness.events(session) if isinstance(event, CallerRefused)]
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [event.reason for event in logged] == ["epoch", "epoch"] and len({event.caller for event in logged}) == 2


async def forged(harness: Harness, session: SessionId) -> None:
    """Start a run of the session with a forged epoch, and see it end without a word."""
    state = SessionState(session=session, epoch=LATER)
    await harness.temporal.execute_workflow(
        WORKFLOW_TYPE,
        state,
        id=workflow_id(session),
        task_queue=harness.settings.task_queue,
        id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
    )
