"""Whoever reaches Temporal's port can have activities run: for sessions that are not theirs they do nothing."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.histories.scenarios import DONE, WRITE
from tests.house import House
from tests.workflows.conftest import Open
from worker.bells import WORKFLOW, workflow_id
from workflows.domain.events import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.state import SessionState

LATER = 2**62
REQUESTS: dict[str, dict[str, Any]] = {
    "holdfast.tools.run": {},
    "holdfast.tools.refuse": {},
    "holdfast.model.generate": {"step": 2, "message": "msg_1"},
    "holdfast.asks.open": {"ask": "per_1", "request": 0, "revision": 0},
    "holdfast.turns.close": {"reason": "done", "end": True},
    "holdfast.project.load": {},
}


@workflow.defn(name="another", sandboxed=False)
class Another:
    """A workflow of somebody else, with an activity of ours to run on our queue."""

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


async def scheduled(house: House, name: str, request: dict[str, Any]) -> str | None:
    """Have a foreign workflow schedule this activity; why it was refused."""
    queue = uuid.uuid4().hex
    async with Worker(
        house.temporal, task_queue=queue, workflows=[Another], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        wanted = (name, house.settings.task_queue, request)
        refused: str | None = await house.temporal.execute_workflow(
            Another.run, wanted, id=f"another/{queue}", task_queue=queue
        )
        return refused


async def test_a_foreign_workflow_gets_nothing_done_and_the_session_goes_on(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        (call,) = await house.calls(session)
        before = await house.events(session)
        turn = (await house.client.session(session)).turn
        known = {"session": session, "chain": LATER, "schedule": 1, "turn": turn, "call": call.id}
        for name, more in REQUESTS.items():
            assert await scheduled(house, name, known | more) == "ForeignCaller", name
        assert await house.events(session) == before
        await house.answer(ask)
        ended = await house.ended(session)
        (call,) = await house.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.state is CallState.DONE and len(house.model.ledger.entries) == 2


async def test_a_run_with_our_id_and_an_absurd_chain_takes_no_session_over(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await house.temporal.get_workflow_handle(workflow_id(session)).terminate("somebody else")
        await forged(house, session)
        await house.answer(ask)
        ended = await house.ended(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"


async def forged(house: House, session: SessionId) -> None:
    """Start a run of the session with a chain of one's own, and see it fail."""
    state = SessionState(session=session, chain=LATER)
    with pytest.raises(Exception, match="Workflow execution failed"):
        await house.temporal.execute_workflow(
            WORKFLOW, state, id=workflow_id(session), task_queue=house.settings.task_queue
        )
