"""Subagents under faults: one for each call, its question answerable, its end its parent's (row 10, 34; B8, B15)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, delegates, runs
from tests.acceptance.trial import Trial
from tests.harness import Harness
from worker.scripted.script import DEFAULT_SCRIPT, Script
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance

WORKS = {
    DEFAULT_SCRIPT: Script(answers=(delegates("child"), DONE)),
    "child": Script(answers=(runs("one", hold=True), DONE)),
}


async def child_of(harness: Harness, session: SessionId) -> SessionId:
    """The session of the one subagent that the session has, once there is one."""
    started = await harness.until(session, lambda event: isinstance(event, TaskStarted))
    assert isinstance(started, TaskStarted)
    return started.child


async def answered_without_a_worker(trial: Trial, session: SessionId) -> None:
    """Answer what the subagent of a session asks, which stands in the one inbox, while nobody works."""
    (ask,) = await trial.harness.wait_for_asks(await child_of(trial.harness, session))
    await trial.workers[0].kill()
    (entry,) = await trial.harness.client.inbox.asks()
    assert (entry.id, entry.path, entry.tool) == (ask, ("build", "general"), "bash")
    await trial.recording_client.answer(ask)


@pytest.mark.parametrize("asks", [False, True], ids=["running", "asking"])
async def test_row_10_and_b08_a_subagent_goes_on_by_itself_and_its_parent_gets_the_result(
    open_trial: Open, asks: bool
) -> None:
    async with open_trial(scripts=WORKS) as trial:
        trial.harness.configure(permission={"bash": "ask" if asks else "allow"})
        first = await trial.worker()
        session = await trial.start_session("Have it done.")
        if asks:
            await answered_without_a_worker(trial, session)
        else:
            await trial.effects.reached("one")
            await first.kill()
        await trial.worker()
        trial.effects.release("one")
        call = await trial.ended_call(session)
    assert call.state is CallState.DONE and call.outcome is not None and "Done." in call.outcome.output
    assert trial.effects.count("one") == 1 and len(trial.harness.model.ledger.entries) == 4


@pytest.mark.parametrize("at", [1, 2], ids=["being_started", "just_finished"])
async def test_row_10_a_call_has_one_subagent_wherever_its_worker_dies(open_trial: Open, at: int) -> None:
    point = {1: "task.started=kill9@1", 2: "tool.committed=kill9@2"}[at]
    async with open_trial(scripts=WORKS) as trial:
        trial.effects.release("one")
        first = await trial.worker(faults=point)
        session = await trial.start_session("Have it done.")
        await trial.replace(first)
        call = await trial.ended_call(session)
        events = [event.type for event in await trial.harness.events(session)]
    assert call.state is CallState.DONE and events.count("task.started") == 1
    assert trial.effects.count("one") == 1 and len(trial.harness.model.ledger.entries) == 4


async def test_row_10_a_subtask_of_a_prompt_begins_once_wherever_its_worker_dies(open_trial: Open) -> None:
    """As its step is registered and stored, as its call is claimed, and as its subagent is started."""
    kills = ("model.registered:step@1", "model.committed:step@1", "tool.claimed@1", "task.started@1")
    faults = ";".join(point.replace("@", "=kill9@") for point in kills)
    async with open_trial(scripts={**WORKS, DEFAULT_SCRIPT: Script(answers=(DONE, DONE))}) as trial:
        trial.effects.release("one")
        session = await trial.start_session("[[script:child]] Do it.", subtask="general")
        for _ in kills:
            worker = await trial.worker(faults=faults)
            await worker.killed()
        await trial.worker()
        call = await trial.ended_call(session)
        events = [event.type for event in await trial.harness.events(session)]
    assert call.state is CallState.DONE and events.count("task.started") == events.count("call.prepared") == 1
    assert trial.effects.count("one") == 1 and len(trial.harness.model.ledger.entries) == 3


@pytest.mark.parametrize("asks", [False, True], ids=["running", "asking"])
async def test_row_34_and_b15_a_stop_of_the_parent_ends_its_subagent_and_all_that_runs(
    open_trial: Open, asks: bool
) -> None:
    async with open_trial(scripts=WORKS) as trial:
        trial.harness.configure(permission={"bash": "ask" if asks else "allow"})
        await trial.worker()
        session = await trial.start_session("Have it done.")
        child = await child_of(trial.harness, session)
        await (trial.harness.wait_for_asks(child) if asks else trial.effects.reached("one"))
        await trial.recording_client.stop(session)
        await trial.harness.ended(session)
        left = trial.commands()
        ended = await trial.harness.ended(child)
        assert await trial.harness.client.inbox.asks() == []
    assert left == [] and isinstance(ended, TurnEnded) and ended.reason == "stopped"
    assert len(trial.harness.model.ledger.entries) == 2 and trial.effects.count("one") == int(not asks)


async def test_a_task_in_the_background_wakes_its_idle_session_once_wherever_its_worker_dies(open_trial: Open) -> None:
    """As its subagent's turn is closed, behind its caller's, and as its result is accepted."""
    faults = "task.settled=kill9@2;task.delivered=kill9@1"
    scripts = {**WORKS, DEFAULT_SCRIPT: Script(answers=(delegates("child", background=True), DONE, DONE))}
    async with open_trial(scripts=scripts) as trial:
        first = await trial.worker(faults=faults)
        session = await trial.start_session("Have it done.")
        await trial.harness.ended(session)
        trial.effects.release("one")
        await first.killed()
        second = await trial.worker(faults=faults)
        await trial.replace(second)
        await trial.harness.ended(session, 2)
        (call,) = await trial.harness.calls(session)
        events = await trial.harness.events(session)
    told = [event.task for event in events if isinstance(event, PromptAccepted)]
    assert told == [None, call.id] and call.state is CallState.DONE
    assert trial.effects.count("one") == 1 and len(trial.harness.model.ledger.entries) == 5


async def test_a_task_in_the_background_that_ends_as_its_parent_is_stopped_is_told_of_once(open_trial: Open) -> None:
    """The worker dies once the subagent's turn is closed, before the parent is told."""
    scripts = {**WORKS, DEFAULT_SCRIPT: Script(answers=(delegates("child", background=True), DONE, DONE))}
    async with open_trial(scripts=scripts) as trial:
        first = await trial.worker(faults="task.settled=kill9@2")
        session = await trial.start_session("Have it done.")
        await trial.harness.ended(session)
        await trial.effects.reached("one")
        trial.effects.release("one")
        await trial.recording_client.stop(session)
        await first.killed()
        await trial.worker()
        await trial.recording_client.prompt(session, "Go on.")
        await trial.harness.ended(session, 2)
        (call,) = await trial.harness.calls(session)
        told = [each.task for each in await trial.harness.events(session) if isinstance(each, PromptAccepted)]
    assert told == [None, None, call.id] and trial.effects.count("one") == 1
