"""Stops and ends of sessions with subagents: of the parent, of the child, and during its start."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from tests.harness import Harness, wait_for_file
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, LOOK, children, delegates, delegation_scripts, tasks
from worker.assemble import workflow_runner
from worker.connect import DATA_CONVERTER
from worker.scripted.script import Hold, ScriptedAnswer
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, TextPart
from workflows.session import SessionWorkflow


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def with_sweeper(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which resends lost signals, and with one."""
    return bool(request.param)


async def signals(harness: Harness, session: SessionId) -> int:
    history = await harness.history(session)
    return sum(each.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED for each in history.events)


def exchanged(history: WorkflowHistory, one: int, other: int) -> WorkflowHistory:
    """The history with two adjacent events swapped; only a workflow task follows each."""
    first, second = HistoryEvent(), HistoryEvent()
    first.CopyFrom(history.events[other])
    second.CopyFrom(history.events[one])
    first.event_id, second.event_id = second.event_id, first.event_id
    events = list(history.events)
    events[one], events[other] = first, second
    return WorkflowHistory(history.workflow_id, events)


async def replay_failure(history: WorkflowHistory) -> Exception | None:
    """How the workflow differs from the history, if it does."""

    async def one() -> AsyncIterator[WorkflowHistory]:
        yield history

    replayer = Replayer(workflows=[SessionWorkflow], data_converter=DATA_CONVERTER, workflow_runner=workflow_runner())
    async with replayer.workflow_replay_iterator(one()) as results:
        return [result.replay_failure async for result in results][0]


async def test_a_stop_of_the_parent_ends_its_subagents_first(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(gate))})
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(held,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await wait_for_file(gate)
        await harness.client.stop(session)
        await harness.ended(session)
        (call,) = await tasks(harness, session)
        overview = await harness.client.sessions.get(child)
    assert (overview.turn_state, overview.reason) == ("ended", "stopped")
    assert call.state is CallState.CANCELLED and call.outcome is not None and child in call.outcome.output


async def test_a_stop_while_a_subagent_is_being_started_ends_the_turn_and_not_the_subagents_session(
    open_harness: Open, tmp_path: Path
) -> None:
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(tmp_path / "gate"))})
    scripts = delegation_scripts(delegates("child"), DONE, child=(held,))
    # a sweeper may start the subagent's run before its parent does, on a slow machine
    async with open_harness(scripts=scripts) as harness, harness.running_worker(with_sweeper=False):
        session = await harness.start_session("Find it.")
        await wait_for_file(tmp_path / "gate")
        await harness.client.stop(session)
        await harness.ended(session)
        history = await harness.history(session)
    attributes = [event.WhichOneof("attributes") for event in history.events]
    started = attributes.index("child_workflow_execution_started_event_attributes")
    stopped = attributes.index("workflow_execution_signaled_event_attributes", started)
    assert await replay_failure(exchanged(history, started, stopped)) is None


async def test_a_stop_of_the_parent_is_signalled_once_to_its_subagent(open_harness: Open) -> None:
    scripts = delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))
    # a sweeper sends unacknowledged signals again after 2 s
    async with open_harness(scripts=scripts) as harness, harness.running_worker(with_sweeper=False):
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await harness.wait_for_asks(child)
        before = await signals(harness, child)
        await harness.client.stop(session)
        await harness.ended(session)
        assert await signals(harness, child) == before + 1


async def test_a_stop_of_the_parent_closes_what_a_subagent_asks(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await harness.wait_for_asks(child)
        await harness.client.stop(session)
        await harness.ended(session)
        assert await harness.client.inbox.asks() == []


async def test_the_parent_learns_of_a_stop_of_its_subagent_alone(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await harness.wait_for_asks(child)
        await harness.client.stop(child)
        await harness.ended(session)
        (call,) = await tasks(harness, session)
        _, *answers = await harness.client.records.transcript(session)
    assert call.state is CallState.CANCELLED
    assert answers[-1].parts == (TextPart(text="All is done."),)


async def test_the_end_of_a_session_ends_its_subagents(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await harness.wait_for_asks(child)
        await harness.client.end(session)
        await harness.ended(session)
        overviews = [await harness.client.sessions.get(each) for each in (session, child)]
    assert [(each.status, each.turn_state) for each in overviews] == [("ended", "ended")] * 2
