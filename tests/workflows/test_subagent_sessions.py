"""Going on with a subagent by its task_id: with whom, and as far as its parent may go by now."""

import pytest

from tests.workflows.conftest import Open
from tests.workflows.handing import DONE, FOUND, children, hands_over, played, tasks
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def swept(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which heals what the first signal has lost, and with one."""
    return bool(request.param)


@pytest.mark.parametrize("name", ["task_id", "session_id"])
async def test_a_task_is_gone_on_with_in_the_session_that_it_began(open_house: Open, name: str) -> None:
    again = ScriptedAnswer(text="It was line 1.")
    scripts = played(hands_over("child"), DONE, child=(FOUND, again))
    async with open_house(scripts=scripts) as house, house.working():
        session = await house.say("Find it.")
        await house.ended(session)
        (child,) = await children(house, session)
        more = {"description": "ask again", "prompt": "Which line?", "subagent_type": "explore", name: child}
        asks = ScriptedAnswer(tools=(ScriptedCall(name="task", arguments={**more}),))
        house.model.scripts = played(hands_over("child"), DONE, asks, DONE, child=(FOUND, again))
        await house.client.prompt(session, "Ask which line it was.")
        await house.ended(session, 2)
        calls = await tasks(house, session)
        assert len(await house.client.sessions()) == 2
    assert calls[1].outcome is not None and "It was line 1." in calls[1].outcome.output


async def test_a_task_of_somebody_else_is_not_gone_on_with(open_house: Open) -> None:
    strange = hands_over("child", task_id="ses_0123456789abcdefghijklmnop")
    async with open_house(scripts=played(strange, DONE)) as house, house.working():
        session = await house.say("Find it.")
        await house.ended(session)
        (call,) = await tasks(house, session)
        assert len(await house.client.sessions()) == 1
    assert call.state is CallState.FAILED and call.outcome is not None
    assert "There is no subagent with the task_id" in call.outcome.output


async def test_a_subagent_that_was_ended_is_not_gone_on_with_and_the_parent_is_told(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(FOUND,))) as house, house.working():
        session = await house.say("Find it.")
        await house.ended(session)
        (child,) = await children(house, session)
        await house.client.end(child)
        house.model.scripts = played(hands_over("child"), DONE, hands_over("child", task_id=child), DONE)
        await house.client.prompt(session, "Ask it again.")
        await house.ended(session, 2)
        _, call = await tasks(house, session)
    assert call.state is CallState.FAILED and call.outcome is not None
    assert f"The subagent of the task_id {child!r} has ended for good" in call.outcome.output


async def test_a_task_id_does_not_lead_to_another_agent_than_the_one_that_was_decided_on(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(FOUND,))) as house, house.working():
        session = await house.say("Find it.")
        await house.ended(session)
        (child,) = await children(house, session)
        other = hands_over("child", agent="general", task_id=child)
        house.model.scripts = played(hands_over("child"), DONE, other, DONE, child=(FOUND, FOUND))
        await house.client.prompt(session, "Let the other one go on.")
        await house.ended(session, 2)
        _, call = await tasks(house, session)
    assert call.state is CallState.FAILED and call.outcome is not None
    assert "works as 'explore', not as 'general'" in call.outcome.output


async def test_what_the_parent_is_denied_later_binds_a_subagent_that_is_gone_on_with(open_house: Open) -> None:
    write = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "b.txt", "content": "x"}),))
    first = hands_over("child", agent="general")
    async with open_house(scripts=played(first, DONE, child=(FOUND,))) as house, house.working():
        session = await house.say("Look.")
        await house.ended(session)
        (child,) = await children(house, session)
        house.configure(agent={"build": {"permission": {"edit": {"*": "ask", "b.txt": "deny"}}}})
        again = hands_over("child", agent="general", task_id=child)
        house.model.scripts = played(first, DONE, again, DONE, child=(write, FOUND))
        await house.client.prompt(session, "Write it.")
        await house.ended(session, 2)
        (call,) = await house.calls(child)
    assert call.state is CallState.REFUSED
