"""Subagents: a call of `task` is worked for by a session of its own, which nobody has to wait for in a process."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowExecutionStatus, WorkflowHistory
from temporalio.worker import Replayer

from tests.house import House, reached
from tests.workflows.conftest import Open
from tests.workflows.runs import chain
from worker.assemble import runner
from worker.bells import workflow_id
from worker.connect import DATA_CONVERTER
from worker.scripted.script import DEFAULT, Hold, Refuse, Script, ScriptedAnswer, ScriptedCall
from workflows.domain import events
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, TextPart, ToolPart
from workflows.domain.permissions.replies import Reply
from workflows.session import SessionWorkflow

DONE = ScriptedAnswer(text="All is done.")
FOUND = ScriptedAnswer(text="It is in a.txt, line 1.")
LOOK = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "cat a.txt"}),))


def hands_over(*scripts: str, agent: str = "explore", **more: str) -> ScriptedAnswer:
    """An answer that hands one piece of work to a subagent for each of these scripts."""
    return ScriptedAnswer(
        tools=tuple(
            ScriptedCall(
                name="task",
                arguments={
                    "description": f"look for {script}",
                    "prompt": f"[[script:{script}]] Where is it?",
                    "subagent_type": agent,
                    **more,
                },
            )
            for script in scripts
        )
    )


def played(*answers: ScriptedAnswer, **children: tuple[ScriptedAnswer, ...]) -> dict[str, Script]:
    return {DEFAULT: Script(answers=answers), **{name: Script(answers=each) for name, each in children.items()}}


async def children(house: House, session: SessionId, count: int = 1) -> list[SessionId]:
    """The subagents' sessions, once so many were started."""
    await house.until(session, lambda event: event.type == "task.started", count)
    log = await house.events(session)
    return [event.child for event in log if isinstance(event, events.TaskStarted)]


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


async def tasks(house: House, session: SessionId) -> list[ToolPart]:
    return [call for call in await house.calls(session) if call.tool == "task"]


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
    async with open_house(scripts=played(hands_over("child"), DONE, child=(held,))) as house, house.working():
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
    async with open_house(scripts=played(hands_over("child"), DONE, child=(LOOK, FOUND))) as house, house.working():
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


async def test_an_unknown_agent_is_refused_before_anybody_is_asked(open_house: Open) -> None:
    async with open_house(scripts=played(hands_over("child", agent="nobody"), DONE)) as house, house.working():
        house.configure(permission={"task": "ask"})
        session = await house.say("Find it.")
        await house.ended(session)
        (call,) = await tasks(house, session)
    assert call.outcome is not None
    assert call.outcome.output == "Unknown agent type: nobody is not a valid agent type"


async def test_a_task_is_gone_on_with_in_the_session_that_it_began(open_house: Open) -> None:
    again = ScriptedAnswer(text="It was line 1.")
    scripts = played(hands_over("child"), DONE, child=(FOUND, again))
    async with open_house(scripts=scripts) as house, house.working():
        session = await house.say("Find it.")
        await house.ended(session)
        (child,) = await children(house, session)
        more = {"description": "ask again", "prompt": "Which line?", "subagent_type": "explore", "task_id": child}
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


async def test_a_description_with_characters_that_no_column_takes_is_a_title_without_them(open_house: Open) -> None:
    odd = hands_over("child", description="find\x00 \ud800it\n\x1b[2J")
    async with open_house(scripts=played(odd, DONE, child=(FOUND,))) as house, house.working():
        session = await house.say("Find it.")
        (child,) = await children(house, session)
        await house.ended(session)
        overview = await house.client.session(child)
    assert overview.title == "find   it  [2J (@explore subagent)"


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
