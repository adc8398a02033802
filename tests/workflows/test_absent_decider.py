"""What comes together while no worker of the workflow runs: a result, and what ends its wait. The SDK hands a signal, a
cancellation or a timer to the code before the result, in whatever order they came."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.worker import Worker

from activities.stop_interceptor import StopInterceptor
from tests.harness import Harness, wait_for_file
from tests.polling import attempts
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from tests.workflows.test_waits import outputs, waits
from worker.assemble import build_worker
from worker.outbox import queue
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState

COMPLETED: Final = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
SIGNALED: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
CANCELLED: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
TASKS: Final = (EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT)
TIMER_STARTED: Final = EventType.EVENT_TYPE_TIMER_STARTED
FIRED: Final = EventType.EVENT_TYPE_TIMER_FIRED
COMMAND: Final = "touch begun.reached; until [ -e begun ]; do sleep 0.05; done; echo ran >> ran.txt"
DONE = ScriptedAnswer(text="Done.")
Interrupt = Callable[[Harness, SessionId], Awaitable[object]]


@asynccontextmanager
async def activities_alone(harness: Harness) -> AsyncIterator[Callable[[], Worker]]:
    """A worker that runs only activities; yields what makes one of the workflows."""
    stops = StopInterceptor(harness.database)
    own = harness.settings
    other = own.model_copy(update={"task_queue": f"{own.task_queue}-not-run"})
    config = build_worker(other, harness.temporal, harness.database, harness.port, stops).config()
    config["task_queue"] = queue(own.task_queue, own.host)
    async with Worker(**(config | {"workflows": []})):
        yield lambda: Worker(**(config | {"no_remote_activities": True}))


async def in_history(harness: Harness, session: SessionId, *kinds: EventType.ValueType) -> None:
    """Wait until the run's history ends with these, but for the tasks that they cause."""
    async for _ in attempts():
        events = [each.event_type for each in (await harness.history(session)).events]
        found = [each for each in events if each not in TASKS]
        if tuple(found[-len(kinds) :]) == kinds:
            return


async def stop(harness: Harness, session: SessionId) -> None:
    await harness.client.stop(session)


async def cancel(harness: Harness, session: SessionId) -> None:
    await harness.workflow(session).cancel()


@pytest.mark.parametrize(("interrupt", "kind"), [(stop, SIGNALED), (cancel, CANCELLED)])
async def test_what_a_command_has_done_is_its_result_though_a_stop_comes_with_it(
    open_harness: Open, interrupt: Interrupt, kind: EventType.ValueType
) -> None:
    runs = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": COMMAND}),))
    async with open_harness(runs, DONE) as harness, activities_alone(harness) as decider:
        async with decider():
            session = await harness.start_session("Run it.")
            await wait_for_file(harness.project / "begun")
            await harness.until(session, lambda event: event.type == "call.claimed")
        (harness.project / "begun").touch()
        await in_history(harness, session, COMPLETED)
        await interrupt(harness, session)
        await in_history(harness, session, COMPLETED, kind)
        async with decider():
            ended = await harness.ended(session)
            (call,) = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == ("stopped" if interrupt is stop else "ended")
    assert call.state is CallState.DONE and (harness.project / "ran.txt").read_text() == "ran\n"


@pytest.mark.parametrize(("interrupt", "kind"), [(stop, SIGNALED), (cancel, CANCELLED)])
async def test_an_answer_is_kept_and_its_calls_do_not_run_if_a_stop_comes_with_it(
    open_harness: Open, tmp_path: Path, interrupt: Interrupt, kind: EventType.ValueType
) -> None:
    held = ScriptedAnswer(
        text="I run it.",
        tools=(ScriptedCall(name="bash", arguments={"command": COMMAND}),),
        faults={1: Hold(path=str(tmp_path / "gate"))},
    )
    async with open_harness(held, DONE) as harness, activities_alone(harness) as decider:
        async with decider():
            session = await harness.start_session("Run it.")
            await wait_for_file(tmp_path / "gate")
        (tmp_path / "gate").touch()
        await in_history(harness, session, COMPLETED)
        await interrupt(harness, session)
        await in_history(harness, session, COMPLETED, kind)
        async with decider():
            ended = await harness.ended(session)
            (call,) = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == ("stopped" if interrupt is stop else "ended")
    assert call.state is CallState.CANCELLED and len(harness.model.ledger.entries) == 1
    assert not (harness.project / "ran.txt").exists()


async def test_a_poke_is_what_ended_a_wait_though_its_moment_comes_with_it(open_harness: Open) -> None:
    async with open_harness(waits({"token": "deploy", "at_most": "8s"}), DONE) as harness:
        async with harness.running_worker():
            session = await harness.start_session("Deploy it.")
            await in_history(harness, session, TIMER_STARTED)
        poked = await shell(harness).run("poke", "deploy", "-m", "v2 is live")
        await in_history(harness, session, SIGNALED, FIRED)
        async with harness.running_worker():
            await harness.ended(session)
        (told,) = await outputs(harness, session)
    assert poked.code == 0 and told.endswith(": v2 is live")
