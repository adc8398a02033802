"""Stops and ends of sessions with subagents, from above, from below, and while one is being started."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from tests.house import House, reached
from tests.workflows.conftest import Open
from tests.workflows.handing import DONE, FOUND, LOOK, children, hands_over, played, tasks
from worker.assemble import runner
from worker.connect import DATA_CONVERTER
from worker.scripted.script import Hold, ScriptedAnswer
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, TextPart
from workflows.session import SessionWorkflow


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def swept(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which heals what the first signal has lost, and with one."""
    return bool(request.param)


async def signals(house: House, session: SessionId) -> int:
    history = await house.history(session)
    return sum(each.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED for each in history.events)


def exchanged(history: WorkflowHistory, one: int, other: int) -> WorkflowHistory:
    """The history as it is when two things come the other way round: nothing but a workflow task follows either."""
    first, second = HistoryEvent(), HistoryEvent()
    first.CopyFrom(history.events[other])
    second.CopyFrom(history.events[one])
    first.event_id, second.event_id = second.event_id, first.event_id
    events = list(history.events)
    events[one], events[other] = first, second
    return WorkflowHistory(history.workflow_id, events)


async def replay_failure(history: WorkflowHistory) -> Exception | None:
    """Why the workflow does something else than the history says, if it does."""

    async def one() -> AsyncIterator[WorkflowHistory]:
        yield history

    replayer = Replayer(workflows=[SessionWorkflow], data_converter=DATA_CONVERTER, workflow_runner=runner())
    async with replayer.workflow_replay_iterator(one()) as results:
        return [result.replay_failure async for result in results][0]


async def test_a_stop_of_the_parent_ends_its_subagents_first(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(gate))})
    async with open_house(scripts=played(hands_over("child"), DONE, child=(held,))) as house, house.working():
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await reached(gate)
        await house.client.stop(session)
        await house.ended(session)
        (call,) = await tasks(house, session)
        overview = await house.client.session(child)
    assert (overview.turn_state, overview.reason) == ("ended", "stopped")
    assert call.state is CallState.CANCELLED and call.outcome is not None and child in call.outcome.output


async def test_a_stop_while_a_subagent_is_being_started_ends_the_turn_and_not_the_subagents_session(
    open_house: Open, tmp_path: Path
) -> None:
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(tmp_path / "gate"))})
    scripts = played(hands_over("child"), DONE, child=(held,))
    # a sweeper may start the subagent's run before its parent does, on a slow machine
    async with open_house(scripts=scripts) as house, house.working(swept=False):
        session = await house.say("Find it.")
        await reached(tmp_path / "gate")
        await house.client.stop(session)
        await house.ended(session)
        history = await house.history(session)
    attributes = [event.WhichOneof("attributes") for event in history.events]
    started = attributes.index("child_workflow_execution_started_event_attributes")
    stopped = attributes.index("workflow_execution_signaled_event_attributes", started)
    assert await replay_failure(exchanged(history, started, stopped)) is None


async def test_a_stop_of_the_parent_is_rung_once_at_its_subagent(open_house: Open) -> None:
    scripts = played(hands_over("child"), DONE, child=(LOOK, FOUND))
    # a sweeper rings again for what it finds unmarked after 2 s
    async with open_house(scripts=scripts) as house, house.working(swept=False):
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await house.asked(child)
        before = await signals(house, child)
        await house.client.stop(session)
        await house.ended(session)
        assert await signals(house, child) == before + 1


async def test_a_stop_of_the_parent_closes_what_a_subagent_asks(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await house.asked(child)
        await house.client.stop(session)
        await house.ended(session)
        assert await house.client.asks() == []


async def test_a_stop_of_the_subagent_alone_is_told_to_its_parent(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await house.asked(child)
        await house.client.stop(child)
        await house.ended(session)
        (call,) = await tasks(house, session)
        _, *answers = await house.client.transcript(session)
    assert call.state is CallState.CANCELLED
    assert answers[-1].parts == (TextPart(text="All is done."),)  # type: ignore[union-attr]


async def test_the_end_of_a_session_ends_its_subagents_for_good(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await house.asked(child)
        await house.client.end(session)
        await house.ended(session)
        overviews = [await house.client.session(each) for each in (session, child)]
    assert [(each.status, each.turn_state) for each in overviews] == [("ended", "ended")] * 2
