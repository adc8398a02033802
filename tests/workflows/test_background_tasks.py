"""Background tasks: the parent's turn ends without them, and their results wake it."""

from pathlib import Path

import pytest

from tests.harness import wait_for_file
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, LOOK, children, delegates, delegation_scripts, tasks
from worker.scripted.script import Hold, ScriptedAnswer
from workflows.domain.messages import CallState

LATER = ScriptedAnswer(text="It comes later.")


@pytest.fixture
def with_sweeper() -> bool:
    """Without a sweeper, which repeats what was lost."""
    return False


async def test_a_result_wakes_the_session_whose_turn_is_over(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    scripts = delegation_scripts(delegates("child", background=True), LATER, DONE, child=(LOOK, held))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.file("a.txt", "here\n")
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        (ask,) = await harness.wait_for_asks(child)
        (entry,) = await harness.client.inbox.asks(session=session)
        idle = await harness.client.sessions.get(session)
        await harness.answer(ask)
        await wait_for_file(gate)
        gate.touch()
        await harness.ended(session, 2)
        (call,) = await tasks(harness, session)
        assert harness.model.last_request is not None
        *_, told = harness.model.last_request.body["messages"]
        verified = await harness.client.records.verify(session)
    assert call.state is CallState.DONE and call.outcome is not None and 'state="running"' in call.outcome.output
    assert (entry.id, entry.path) == (ask, ("build", "explore"))
    assert (idle.turn_state, idle.background, idle.working) == ("ended", 1, True)
    note, _, result = str(told["content"]).partition("</system-reminder>\n\n")
    assert "Holdfast sends this message" in note and result.startswith(f'<task id="{child}" state="completed">')
    assert "It is in a.txt, line 1." in str(told["content"]) and verified.problem is None


async def test_a_stop_of_the_idle_session_ends_what_works_in_its_background(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(gate))})
    scripts = delegation_scripts(delegates("child", background=True), LATER, DONE, child=(held,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        await wait_for_file(gate)
        stopped = await harness.client.stop(session)
        await harness.ended(child)
        rests = await harness.client.sessions.get(session)
        await harness.client.prompt(session, "Go on.")
        await harness.ended(session, 2)
        assert harness.model.last_request is not None
        told = str(harness.model.last_request.body["messages"])
    assert (stopped.turn, stopped.background) == (None, (child,))
    assert (rests.working, rests.number) == (False, 1)
    assert "The subagent was stopped before it had finished" in told
