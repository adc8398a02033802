"""Subagents: a call of `task` starts a session; no process waits for it."""

import asyncio
import re
from pathlib import Path
from typing import cast

import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.harness import wait_for_file
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, LOOK, children, delegates, delegation_scripts, tasks
from tests.workflows.session_runs import session_histories
from worker.scripted.script import Hold, Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.events.tasks import TaskSettled
from workflows.domain.events.turns import TurnEnded
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def with_sweeper(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which resends lost signals, and with one."""
    return bool(request.param)


async def test_the_last_answer_of_a_subagent_is_the_result_of_the_call(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.file("a.txt", "here\n")
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        (call,) = await tasks(harness, session)
        overview = await harness.client.sessions.get(child)
        totals = await harness.client.sessions.totals(session)
        verified = await harness.client.records.verify(session)
    assert call.state is CallState.DONE and call.outcome is not None
    assert call.outcome.output.startswith(f'<task id="{child}" state="completed">')
    assert "It is in a.txt, line 1." in call.outcome.output
    assert (overview.parent, overview.agent, overview.model) == (session, "explore", "scripted/model")
    assert overview.title == "look for child (@explore subagent)"
    (looked,) = cast(list[dict[str, str]], call.outcome.metadata["summary"])
    assert (looked["tool"], looked["status"], looked["title"]) == ("bash", "completed", "cat a.txt")
    assert (totals.steps, verified.problem) == (4, None)


async def test_the_log_of_the_parent_holds_the_head_of_the_childs(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(FOUND,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        (settled,) = [each for each in await harness.events(session) if isinstance(each, TaskSettled)]
        verified = await harness.client.records.verify(child)
    assert (settled.child, settled.seq, settled.head) == (child, verified.events, verified.head)


async def test_a_subagent_sees_its_prompt_with_its_files_only_and_its_own_words_and_tools(
    open_harness: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    asks = delegates("child", prompt="[[script:child]] What is in @a.txt?")
    async with (
        open_harness(scripts=delegation_scripts(asks, DONE, child=(DONE, held))) as harness,
        harness.running_worker(),
    ):
        harness.file("a.txt", "of a")
        session = await harness.start_session("Find the secret of this conversation.")
        await wait_for_file(gate)
        assert harness.model.last_request is not None
        request = harness.model.last_request.body
        gate.touch()
        await harness.ended(session)
    system, *said = request["messages"]
    offered = {tool["function"]["name"] for tool in request["tools"]}
    assert "You are a scout" in str(system["content"]) and "secret" not in str(said) and "1: of a" in str(said)
    assert {"read", "grep"} <= offered and not {"edit", "write", "task", "todowrite"} & offered


async def test_an_agent_as_people_write_it_for_claude_code_works(open_harness: Open, tmp_path: Path) -> None:
    text = (
        '---\nname: rev\ndescription: Use it after a change. Examples:\n<example>\nuser: "done: look"\n</example>\n'
        "tools: Read, Grep\nmodel: haiku\ncolor: green\nversion: 1.0.0\n---\nYou are a reviewer."
    )
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    scripts = delegation_scripts(delegates("child", agent="rev"), DONE, child=(held,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        (harness.project / ".claude/agents").mkdir(parents=True)
        harness.file(".claude/agents/rev.md", text)
        session = await harness.start_session("Find it.")
        await wait_for_file(gate)
        assert harness.model.last_request is not None
        request = harness.model.last_request.body
        gate.touch()
        await harness.ended(session)
        (call,) = await tasks(harness, session)
    assert str(request["messages"][0]["content"]).startswith("You are a reviewer.")
    assert {tool["function"]["name"] for tool in request["tools"]} == {"read", "grep"}
    assert call.state is CallState.DONE and (request["model"], "version" in request) == ("model", False)


async def test_a_question_of_a_subagent_stands_in_the_one_inbox_with_its_path(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.file("a.txt", "here\n")
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await harness.wait_for_asks(child)
        (entry,) = await harness.client.inbox.asks(session=session)
        assert [each.id for each in await harness.client.inbox.asks()] == [entry.id]
        await harness.answer(entry.id)
        await harness.ended(session)
        (call,) = await tasks(harness, session)
    assert (entry.session, entry.path, entry.tool) == (child, ("build", "explore"), "bash")
    assert call.state is CallState.DONE


async def test_several_in_one_answer_work_side_by_side(open_harness: Open, tmp_path: Path) -> None:
    gates = {name: tmp_path / name for name in ("one", "two")}
    held = {
        name: (ScriptedAnswer(text=f"Found {name}.", faults={1: Hold(path=str(gate))}),) for name, gate in gates.items()
    }
    async with (
        open_harness(scripts=delegation_scripts(delegates("one", "two"), DONE, **held)) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find both.")
        for gate in gates.values():
            await wait_for_file(gate)
        for gate in gates.values():
            gate.touch()
        await harness.ended(session)
        outcomes = [call.outcome.output for call in await tasks(harness, session) if call.outcome]
    assert ["Found one." in outcomes[0], "Found two." in outcomes[1]] == [True, True]


async def test_many_in_one_answer_have_their_results_in_its_order(open_harness: Open, scale: int) -> None:
    """A hundred with `--scale 20`."""
    names = [f"n{number}" for number in range(5 * scale)]
    found = {name: (ScriptedAnswer(text=f"Found {name}."),) for name in names}
    async with (
        open_harness(scripts=delegation_scripts(delegates(*names), DONE, **found)) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find all.")
        await harness.ended(session)
        outcomes = [call.outcome.output for call in await tasks(harness, session) if call.outcome]
    assert [f"Found {name}." in outcome for name, outcome in zip(names, outcomes, strict=True)] == [True] * len(names)


async def test_what_a_parent_may_not_do_its_subagent_may_not_do_either(open_harness: Open) -> None:
    write = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "b.txt", "content": "x"}),))
    scripts = delegation_scripts(delegates("child", agent="general"), DONE, child=(write, FOUND))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure(agent={"build": {"permission": {"edit": {"*": "ask", "b.txt": "deny"}}}})
        session = await harness.start_session("Write it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        (call,) = await harness.calls(child)
    assert call.state is CallState.REFUSED
    assert not (harness.project / "b.txt").exists()


async def test_a_grant_that_a_subagent_got_does_not_hold_for_its_parent(open_harness: Open) -> None:
    scripts = delegation_scripts(delegates("child"), LOOK, DONE, child=(LOOK, FOUND))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.file("a.txt", "here\n")
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        (ask,) = await harness.wait_for_asks(child)
        await harness.answer(ask, Reply.ALWAYS)
        (own,) = await harness.wait_for_asks(session)
        assert own != ask
        await harness.answer(own)
        await harness.ended(session)


@pytest.mark.parametrize("asking", [False, True])
async def test_row_56_the_parent_continues_as_new_while_a_subagent_works(
    asking: bool, open_harness: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, held))) as harness,
        harness.running_worker(),
    ):
        harness.set_limits(history_events=5)
        harness.file("a.txt", "here\n")
        harness.configure(permission={"bash": "ask"} if asking else {})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        if asking:
            (ask,) = await harness.wait_for_asks(child)
            await harness.answer(ask)
        await wait_for_file(gate)
        gate.touch()
        await harness.ended(session)
        (call,) = await tasks(harness, session)
        assert len(await session_histories(harness, session, runs=2)) > 1
    assert call.state is CallState.DONE


async def test_row_56_a_terminated_subagent_is_resumed_and_its_question_stays(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.file("a.txt", "here\n")
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        (ask,) = await harness.wait_for_asks(child)
        await harness.workflow(child).terminate("an operator")
        await harness.answer(ask)
        await harness.ended(session)
        (call,) = await tasks(harness, session)
    assert call.state is CallState.DONE


async def test_a_terminated_parent_finds_its_subagent_again(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(held,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find it.")
        await wait_for_file(gate)
        handle = harness.workflow(session)
        await handle.terminate("an operator")
        assert (await handle.describe()).status is WorkflowExecutionStatus.TERMINATED
        gate.touch()
        await harness.ended(session)
        (call,) = await tasks(harness, session)
        assert len(await children(harness, session)) == 1
    assert call.state is CallState.DONE


async def test_a_subagent_whose_model_fails_fails_the_call_and_the_parent_goes_on(open_harness: Open) -> None:
    broken = ScriptedAnswer(faults={1: Refuse(status=400, body={"error": {"message": "nope"}})})
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(broken,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find it.")
        ended = await harness.ended(session)
        (child,) = await children(harness, session)
        (call,) = await tasks(harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.state is CallState.FAILED and call.outcome is not None
    assert call.outcome.output.startswith(f"Subagent failed (task_id: {child}): ") and "nope" in call.outcome.output


async def test_an_agent_that_only_looks_is_told_what_its_call_would_change(open_harness: Open) -> None:
    writes = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "x"}),))
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(writes, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"edit": "allow"})
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (child,) = await children(harness, session)
        (call,) = await harness.calls(child)
    assert call.outcome is not None
    assert call.outcome.output == "Not allowed: you change no files. This call would change: a.txt."


async def test_a_rejection_ends_the_subagents_turn_and_not_its_parents(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        (ask,) = await harness.wait_for_asks(child)
        await harness.answer(ask, Reply.REJECT)
        ended = await harness.ended(session)
        (call,) = await tasks(harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.state is CallState.FAILED and call.outcome is not None
    assert re.search(r"\): its call bash \{.*\}: The user rejected", call.outcome.output)


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("nobody", "Unknown agent type: nobody is not a valid agent type. Subagents here: explore, general."),
        ("plan", "The agent plan is no subagent: it works for people only"),
        ("build", "The agent build is no subagent: it works for people only"),
    ],
)
async def test_an_agent_that_takes_no_work_is_refused_without_an_ask(open_harness: Open, agent: str, why: str) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child", agent=agent), DONE)) as harness,
        harness.running_worker(),
    ):
        harness.configure(permission={"task": "ask"}, agent={"plan": {"mode": "primary"}, "build": {"mode": "all"}})
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (call,) = await tasks(harness, session)
        assert len(await harness.client.sessions.list_recent()) == 1
    assert call.outcome is not None and call.outcome.output == why


async def test_a_description_with_characters_that_no_column_takes_is_a_title_without_them(open_harness: Open) -> None:
    odd = delegates("child", description="find\x00 \ud800it\n\x1b[2J")
    async with open_harness(scripts=delegation_scripts(odd, DONE, child=(FOUND,))) as harness, harness.running_worker():
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await harness.ended(session)
        overview = await harness.client.sessions.get(child)
    assert overview.title == "find   it  [2J (@explore subagent)"


async def test_twenty_signals_of_settled_calls_cost_nothing(open_harness: Open) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(FOUND,))) as harness,
        harness.running_worker(),
    ):
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        (call,) = await tasks(harness, session)
        handle = harness.workflow(session)
        before = len(harness.model.ledger.entries)
        await asyncio.gather(*(handle.signal("wake", {"kind": "settled", "subject": call.id}) for _ in range(20)))
        await harness.client.prompt(session, "Anything else?")
        await harness.ended(session, 2)
    assert len(harness.model.ledger.entries) == before + 1
