"""Subagents: a call of `task` is worked for by a session of its own, which nobody has to wait for in a process."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.house import reached
from tests.workflows.conftest import Open
from tests.workflows.handing import DONE, FOUND, LOOK, children, hands_over, played, tasks
from tests.workflows.runs import chain
from worker.bells import workflow_id
from worker.scripted.script import Hold, Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain import events
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def swept(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which heals what the first signal has lost, and with one."""
    return bool(request.param)


async def test_the_last_answer_of_a_subagent_is_the_result_of_the_call(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
        house.file("a.txt", "here\n")
        session = await house.say("Find it.")
        await house.ended(session)
        (child,) = await children(house, session)
        (call,) = await tasks(house, session)
        overview = await house.client.session(child)
        totals = await house.client.totals(session)
        verified = await house.client.verify(session)
    assert call.state is CallState.DONE and call.outcome is not None
    assert call.outcome.output.startswith(f'<task id="{child}" state="completed" cost="')
    assert "It is in a.txt, line 1." in call.outcome.output
    assert (overview.parent, overview.agent, overview.model) == (session, "explore", "scripted/model")
    assert overview.title == "look for child (@explore subagent)"
    (looked,) = cast(list[dict[str, str]], call.outcome.metadata["summary"])
    assert (looked["tool"], looked["status"], looked["title"]) == ("bash", "completed", "cat a.txt")
    assert (totals.steps, verified.problem) == (4, None)


async def test_the_log_of_the_parent_holds_the_head_of_the_childs(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(FOUND,))) as house, house.working():
        session = await house.say("Find it.")
        await house.ended(session)
        (child,) = await children(house, session)
        (settled,) = [each for each in await house.events(session) if isinstance(each, events.TaskSettled)]
        verified = await house.client.verify(child)
    assert (settled.child, settled.seq, settled.head) == (child, verified.events, verified.head)


async def test_a_subagent_sees_its_prompt_only_and_its_own_words_and_tools(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_house(scripts=played(hands_over("child"), DONE, child=(held,))) as house, house.working():
        session = await house.say("Find the secret of this conversation.")
        await reached(gate)
        assert house.model.last is not None
        request = house.model.last.body
        gate.touch()
        await house.ended(session)
    system, *said = request["messages"]
    offered = {tool["function"]["name"] for tool in request["tools"]}
    assert "You are a scout" in str(system["content"]) and "secret" not in str(said)
    assert {"read", "grep"} <= offered and not {"edit", "write", "task", "todowrite"} & offered


async def test_a_question_of_a_subagent_stands_in_the_one_inbox_with_its_path(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
        house.file("a.txt", "here\n")
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await house.asked(child)
        (entry,) = await house.client.asks(session=session)
        assert [each.id for each in await house.client.asks()] == [entry.id]
        await house.answer(entry.id)
        await house.ended(session)
        (call,) = await tasks(house, session)
    assert (entry.session, entry.path, entry.tool) == (child, ("build", "explore"), "bash")
    assert call.state is CallState.DONE


async def test_several_in_one_answer_work_side_by_side(open_house: Open, tmp_path: Path) -> None:
    gates = {name: tmp_path / name for name in ("one", "two")}
    held = {
        name: (ScriptedAnswer(text=f"Found {name}.", faults={1: Hold(path=str(gate))}),) for name, gate in gates.items()
    }
    async with open_house(scripts=played(hands_over("one", "two"), DONE, **held)) as house, house.working():
        session = await house.say("Find both.")
        for gate in gates.values():
            await reached(gate)
        for gate in gates.values():
            gate.touch()
        await house.ended(session)
        outcomes = [call.outcome.output for call in await tasks(house, session) if call.outcome]
    assert ["Found one." in outcomes[0], "Found two." in outcomes[1]] == [True, True]


async def test_what_a_parent_may_not_do_its_subagent_may_not_do_either(open_house: Open) -> None:
    write = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "b.txt", "content": "x"}),))
    scripts = played(hands_over("child", agent="general"), DONE, child=(write, FOUND))
    async with open_house(scripts=scripts) as house, house.working():
        house.configure(agent={"build": {"permission": {"edit": {"*": "ask", "b.txt": "deny"}}}})
        session = await house.say("Write it.")
        await house.ended(session)
        (child,) = await children(house, session)
        (call,) = await house.calls(child)
    assert call.state is CallState.REFUSED
    assert not (house.project / "b.txt").exists()


async def test_a_grant_that_a_subagent_got_does_not_hold_for_its_parent(open_house: Open) -> None:
    scripts = played(hands_over("child"), LOOK, DONE, child=(LOOK, FOUND))
    async with open_house(scripts=scripts) as house, house.working():
        house.file("a.txt", "here\n")
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        (ask,) = await house.asked(child)
        await house.answer(ask, Reply.ALWAYS)
        (own,) = await house.asked(session)
        assert own != ask
        await house.answer(own)
        await house.ended(session)


@pytest.mark.parametrize("asking", [False, True])
async def test_row_56_the_parent_continues_as_new_while_a_subagent_works(
    asking: bool, open_house: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, held))) as house, house.working():
        house.hurry(history_events=5)
        house.file("a.txt", "here\n")
        house.configure(permission={"bash": "ask"} if asking else {})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        if asking:
            (ask,) = await house.asked(child)
            await house.answer(ask)
        await reached(gate)
        gate.touch()
        await house.ended(session)
        (call,) = await tasks(house, session)
        assert len(await chain(house, session, runs=2)) > 1
    assert call.state is CallState.DONE


async def test_row_56_a_terminated_subagent_is_resumed_and_its_question_stays(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
        house.file("a.txt", "here\n")
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        (ask,) = await house.asked(child)
        await house.temporal.get_workflow_handle(workflow_id(child)).terminate("an operator")
        await house.answer(ask)
        await house.ended(session)
        (call,) = await tasks(house, session)
    assert call.state is CallState.DONE


async def test_a_terminated_parent_finds_its_subagent_again(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_house(scripts=played(hands_over("child"), DONE, child=(held,))) as house, house.working():
        session = await house.say("Find it.")
        await reached(gate)
        handle = house.temporal.get_workflow_handle(workflow_id(session))
        await handle.terminate("an operator")
        assert (await handle.describe()).status is WorkflowExecutionStatus.TERMINATED
        gate.touch()
        await house.ended(session)
        (call,) = await tasks(house, session)
        assert len(await children(house, session)) == 1
    assert call.state is CallState.DONE


async def test_a_subagent_whose_model_fails_fails_the_call_and_the_parent_goes_on(open_house: Open) -> None:
    broken = ScriptedAnswer(faults={1: Refuse(status=400, body={"error": {"message": "nope"}})})
    async with open_house(scripts=played(hands_over("child"), DONE, child=(broken,))) as house, house.working():
        session = await house.say("Find it.")
        ended = await house.ended(session)
        (child,) = await children(house, session)
        (call,) = await tasks(house, session)
    assert isinstance(ended, events.TurnEnded) and ended.reason == "done"
    assert call.state is CallState.FAILED and call.outcome is not None
    assert call.outcome.output.startswith(f"Subagent failed (task_id: {child}): ") and "nope" in call.outcome.output


async def test_a_rejection_ends_the_subagents_turn_and_not_its_parents(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        (ask,) = await house.asked(child)
        await house.answer(ask, Reply.REJECT)
        ended = await house.ended(session)
        (call,) = await tasks(house, session)
    assert isinstance(ended, events.TurnEnded) and ended.reason == "done"
    assert call.state is CallState.FAILED and call.outcome is not None and "rejected" in call.outcome.output


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("nobody", "Unknown agent type: nobody is not a valid agent type"),
        ("plan", "Unknown agent type: plan is not a valid agent type"),
        ("build", "The agent build is no subagent: it works for people only"),
    ],
)
async def test_an_agent_that_takes_no_work_is_refused_before_anybody_is_asked(
    open_house: Open, agent: str, why: str
) -> None:
    async with open_house(scripts=played(hands_over("child", agent=agent), DONE)) as house, house.working():
        house.configure(permission={"task": "ask"}, agent={"plan": {"mode": "all"}, "build": {"mode": "all"}})
        session = await house.say("Find it.")
        await house.ended(session)
        (call,) = await tasks(house, session)
        assert len(await house.client.sessions()) == 1
    assert call.outcome is not None and call.outcome.output == why


async def test_a_description_with_characters_that_no_column_takes_is_a_title_without_them(open_house: Open) -> None:
    odd = hands_over("child", description="find\x00 \ud800it\n\x1b[2J")
    async with open_house(scripts=played(odd, DONE, child=(FOUND,))) as house, house.working():
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await house.ended(session)
        overview = await house.client.session(child)
    assert overview.title == "find   it  [2J (@explore subagent)"


async def test_twenty_bells_of_settled_calls_cost_nothing(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child"), DONE, child=(FOUND,))) as house, house.working():
        session = await house.say("Find it.")
        await house.ended(session)
        (call,) = await tasks(house, session)
        handle = house.temporal.get_workflow_handle(workflow_id(session))
        before = len(house.model.ledger.entries)
        await asyncio.gather(*(handle.signal("settled", {"call": call.id}) for _ in range(20)))
        await house.client.prompt(session, "Anything else?")
        await house.ended(session, 2)
    assert len(house.model.ledger.entries) == before + 1
