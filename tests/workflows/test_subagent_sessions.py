"""Resuming a subagent by its task_id: which one, under its parent's present rules."""

import pytest

from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, children, delegates, delegation_scripts, tasks
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def with_sweeper(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which resends lost signals, and with one."""
    return bool(request.param)


@pytest.mark.parametrize("name", ["task_id", "session_id"])
async def test_a_task_is_resumed_in_the_session_that_it_began(open_harness: Open, name: str) -> None:
    again = ScriptedAnswer(text="It was line 1.")
    scripts = delegation_scripts(delegates("child"), DONE, child=(FOUND, again))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        more = {"description": "ask again", "prompt": "Which line?", "subagent_type": "explore", name: child}
        asks = ScriptedAnswer(tools=(ScriptedCall(name="task", arguments={**more}),))
        harness.model.scripts = delegation_scripts(delegates("child"), DONE, asks, DONE, child=(FOUND, again))
        await harness.client.prompt(session, "Ask which line it was.")
        await harness.ended(session, 2)
        calls = await tasks(harness, session)
        assert len(await harness.client.sessions.list_recent()) == 2
    assert calls[1].outcome is not None and "It was line 1." in calls[1].outcome.output


async def test_a_task_of_another_session_is_not_resumed(open_harness: Open) -> None:
    strange = delegates("child", task_id="ses_0123456789abcdefghijklmnop")
    async with open_harness(scripts=delegation_scripts(strange, DONE)) as harness, harness.running_worker():
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (call,) = await tasks(harness, session)
        assert len(await harness.client.sessions.list_recent()) == 1
    assert call.state is CallState.FAILED and call.outcome is not None
    assert "There is no subagent with the task_id" in call.outcome.output


async def test_an_ended_subagent_is_not_resumed_and_the_parent_reads_why(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(FOUND,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        await harness.client.end(child)
        harness.model.scripts = delegation_scripts(delegates("child"), DONE, delegates("child", task_id=child), DONE)
        await harness.client.prompt(session, "Ask it again.")
        await harness.ended(session, 2)
        _, call = await tasks(harness, session)
    assert call.state is CallState.FAILED and call.outcome is not None
    assert f"The subagent of the task_id {child!r} has ended for good" in call.outcome.output


async def test_a_task_id_does_not_lead_to_another_agent_than_the_decided_one(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(FOUND,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        other = delegates("child", agent="general", task_id=child)
        harness.model.scripts = delegation_scripts(delegates("child"), DONE, other, DONE, child=(FOUND, FOUND))
        await harness.client.prompt(session, "Let the other one go on.")
        await harness.ended(session, 2)
        _, call = await tasks(harness, session)
    assert call.state is CallState.FAILED and call.outcome is not None
    assert "works as 'explore', not as 'general'" in call.outcome.output


async def test_what_the_parent_is_denied_later_binds_a_resumed_subagent(open_harness: Open) -> None:
    write = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "b.txt", "content": "x"}),))
    first = delegates("child", agent="general")
    async with (
        open_harness(scripts=delegation_scripts(first, DONE, child=(FOUND,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Look.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        harness.configure(agent={"build": {"permission": {"edit": {"*": "ask", "b.txt": "deny"}}}})
        again = delegates("child", agent="general", task_id=child)
        harness.model.scripts = delegation_scripts(first, DONE, again, DONE, child=(write, FOUND))
        await harness.client.prompt(session, "Write it.")
        await harness.ended(session, 2)
        (call,) = await harness.calls(child)
    assert call.state is CallState.REFUSED
