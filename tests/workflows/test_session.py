"""Sessions from prompt to idle: a real engine, a real database, a model over HTTP."""

from pathlib import Path

import pytest

from activities.store.prompts import Mode
from tests.histories.scenarios import DONE, WRITE
from tests.house import reached
from tests.workflows.conftest import Open
from tests.workflows.runs import activities, chain
from worker.bells import workflow_id
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain import attributes
from workflows.domain.errors import Conflict
from workflows.domain.events import PromptTaken, TurnEnded
from workflows.domain.messages import AssistantMessage, CallState, TextPart


async def test_a_prompt_is_answered_and_the_turn_ends(open_house: Open) -> None:
    async with open_house(ScriptedAnswer(text="Hello to you.")) as house, house.working():
        session = await house.say("Hello?")
        ended = await house.ended(session)
        messages = await house.client.transcript(session)
        verified = await house.client.verify(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [message.role for message in messages] == ["user", "assistant"]
    assert isinstance(messages[1], AssistantMessage) and messages[1].parts == (TextPart(text="Hello to you."),)
    assert verified.problem is None and verified.events > 4


async def test_a_tool_call_runs_and_the_model_reads_its_output(open_house: Open) -> None:
    script = (
        ScriptedAnswer(text="Let me look.", tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),)),
        ScriptedAnswer(text="It says hello."),
    )
    async with open_house(*script) as house, house.working():
        house.file("a.txt", "hello\n")
        session = await house.say("What does a.txt say?")
        await house.ended(session)
        (call,) = await house.calls(session)
    assert call.outcome is not None and "1: hello" in call.outcome.output
    assert [entry.step for entry in house.model.ledger.entries] == [0, 1]


async def test_the_last_of_an_agents_steps_ends_the_turn(open_house: Open) -> None:
    look = ScriptedAnswer(text="Once more.", tools=(ScriptedCall(name="glob", arguments={"pattern": "*.py"}),))
    last = ScriptedAnswer(text="I looked once, and found nothing.")
    async with open_house(look, last, look) as house, house.working():
        house.configure(agent={"build": {"steps": 2}})
        ended = await house.ended(await house.say("Look for Python files."))
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [entry.step for entry in house.model.ledger.entries] == [0, 1]


def touches(name: str, text: str = "") -> ScriptedAnswer:
    return ScriptedAnswer(text=text, tools=(ScriptedCall(name="bash", arguments={"command": f"touch {name}"}),))


@pytest.mark.parametrize("events", [2000, 12])
async def test_calls_of_the_last_step_are_refused_and_without_a_text_the_turn_fails(
    open_house: Open, events: int
) -> None:
    async with open_house(touches("a"), touches("b"), touches("c"), DONE) as house, house.working():
        house.hurry(history_events=events)
        house.configure(agent={"build": {"steps": 2}})
        session = await house.say("Go.")
        ended = await house.ended(session)
        states = [call.state for call in await house.calls(session)]
        error = (await house.client.session(session)).error
        runs = await chain(house, session)

    assert isinstance(ended, TurnEnded) and ended.reason == "failed"
    assert error is not None and "used up its 2 steps without an answer" in error
    assert states == [CallState.DONE, CallState.REFUSED, CallState.REFUSED]
    assert [path.name for path in house.project.iterdir() if len(path.name) == 1] == ["a"]
    assert [entry.step for entry in house.model.ledger.entries] == [0, 1, 2] and (len(runs) > 1) == (events == 12)


async def test_a_text_beside_refused_calls_is_the_answer(open_house: Open) -> None:
    async with open_house(touches("a", "This is all."), touches("b")) as house, house.working():
        house.configure(agent={"build": {"steps": 1}})
        session = await house.say("Go.")
        ended = await house.ended(session)
        (call,) = await house.calls(session)

    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.outcome is not None and "used all the steps" in call.outcome.output
    assert not (house.project / "a").exists() and len(house.model.ledger.entries) == 1


async def test_a_text_after_refused_calls_is_the_answer(open_house: Open) -> None:
    async with open_house(touches("a"), DONE) as house, house.working():
        house.configure(agent={"build": {"steps": 1}})
        ended = await house.ended(await house.say("Go."))

    assert isinstance(ended, TurnEnded) and ended.reason == "done" and not (house.project / "a").exists()


async def test_a_stop_while_the_text_of_the_last_step_is_awaited_is_no_failure(
    open_house: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = DONE.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_house(touches("a"), held) as house, house.working():
        house.configure(agent={"build": {"steps": 1}})
        session = await house.say("Go.")
        await reached(gate)
        await house.client.stop(session)
        ended = await house.ended(session)
        gate.touch()

    assert isinstance(ended, TurnEnded) and (ended.reason, ended.note) == ("stopped", None)


async def test_a_prompt_sent_while_the_model_answers_steers_the_turn(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = (
        ScriptedAnswer(
            text="Looking.",
            tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),),
            faults={1: Hold(after=1, path=str(gate))},
        ),
        ScriptedAnswer(text="Both done."),
    )
    async with open_house(*script) as house, house.working():
        session = await house.say("First task.")
        await reached(gate)
        await house.client.prompt(session, "Second task.")
        gate.touch()
        await house.ended(session)
        messages = await house.client.transcript(session)
        events = await house.events(session)
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert [event.step for event in events if isinstance(event, PromptTaken)] == [1, 2]
    assert len(house.model.ledger.entries) == 2


async def test_a_queued_prompt_gets_a_turn_of_its_own(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = (
        ScriptedAnswer(text="First.", faults={1: Hold(after=0, path=str(gate))}),
        ScriptedAnswer(text="Second."),
    )
    async with open_house(*script) as house, house.working():
        session = await house.say("First task.")
        await reached(gate)
        await house.client.prompt(session, "Second task.", mode=Mode.QUEUE)
        gate.touch()
        await house.ended(session, 2)
        messages = await house.client.transcript(session)
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert len({message.turn for message in messages}) == 2


async def test_a_stop_ends_the_turn_and_a_prompt_after_it_starts_one_turn(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = (
        ScriptedAnswer(text="Never finished.", faults={1: Hold(after=1, path=str(gate))}),
        ScriptedAnswer(text="The next."),
    )
    async with open_house(*script) as house, house.working():
        session = await house.say("A long task.")
        await reached(gate)
        stopped = await house.client.stop(session)
        await house.client.prompt(session, "Something else.")
        await house.ended(session, 2)
        events = await house.events(session)
    ends = [(event.turn, event.reason) for event in events if isinstance(event, TurnEnded)]
    assert ends[0] == (stopped.turn, "stopped") and ends[1][1] == "done" and len(ends) == 2


async def test_a_stop_that_keeps_what_is_queued_leaves_it_a_turn(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="Never finished.", faults={1: Hold(after=1, path=str(gate))})
    async with open_house(held, ScriptedAnswer(text="The next.")) as house, house.working():
        session = await house.say("A long task.")
        await reached(gate)
        await house.client.prompt(session, "Something else.", mode=Mode.QUEUE)
        await house.client.stop(session, keep_queued=True)
        await house.ended(session, 2)
        events = await house.events(session)
    assert [event.reason for event in events if isinstance(event, TurnEnded)] == ["stopped", "done"]


async def test_a_stop_ends_a_running_command_and_its_group(open_house: Open) -> None:
    script = (ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "touch begun; sleep 600"}),)),)
    async with open_house(*script) as house, house.working():
        session = await house.say("Sleep.")
        await reached(house.project / "begun", suffix="")
        await house.client.stop(session)
        ended = await house.ended(session)
        (call,) = await house.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
    assert call.state is CallState.CANCELLED


async def test_an_ended_session_refuses_prompts(open_house: Open) -> None:
    async with open_house(ScriptedAnswer(text="Hello.")) as house, house.working():
        session = await house.say("Hello?")
        await house.ended(session)
        await house.client.end(session)
        with pytest.raises(Conflict, match="has ended"):
            await house.client.prompt(session, "More?")


async def test_cancelling_the_workflow_ends_the_session(open_house: Open, tmp_path: Path) -> None:
    script = ScriptedAnswer(text="Never.", faults={1: Hold(after=1, path=str(tmp_path / "gate"))})
    async with open_house(script) as house, house.working():
        session = await house.say("Hello?")
        await reached(tmp_path / "gate")
        await house.temporal.get_workflow_handle(workflow_id(session)).cancel()
        await house.until(session, lambda event: event.type == "session.ended")
        overview = await house.client.session(session)
    assert (overview.status, overview.turn_state) == ("ended", "ended")


@pytest.mark.parametrize("by_a_person", [True, False], ids=["end", "cancel"])
async def test_the_end_of_a_session_closes_its_open_ask(open_house: Open, by_a_person: bool) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        run = house.temporal.get_workflow_handle(workflow_id(session))
        await (house.client.end(session) if by_a_person else run.cancel())
        await house.ended(session)
        assert await house.client.asks(session=session) == []
        with pytest.raises(Conflict, match="closed"):
            await house.answer(ask)
        (call,) = await house.calls(session)
    assert call.state is CallState.CANCELLED and not (house.project / "a.txt").exists()


async def test_a_terminated_chain_is_followed_by_one_that_goes_on(open_house: Open) -> None:
    script = (
        ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "a"}),)),
        ScriptedAnswer(text="Done."),
    )
    async with open_house(*script) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await house.temporal.get_workflow_handle(workflow_id(session)).terminate()
        await house.answer(ask)
        await house.ended(session)
    assert (house.project / "a.txt").read_text() == "a"
    assert [entry.step for entry in house.model.ledger.entries] == [0, 1]


async def test_a_session_is_found_by_its_id_directory_and_agent(open_house: Open) -> None:
    async with open_house(DONE) as house:
        session = await house.say("Hello?")
        run = await house.temporal.get_workflow_handle(workflow_id(session)).describe()
    found = {pair.key.name: pair.value for pair in run.typed_search_attributes}
    assert found == {
        attributes.SESSION: session,
        attributes.DIRECTORY: str(house.project),
        attributes.AGENT: "build",
    }


async def test_continue_as_new_keeps_an_open_ask_and_what_comes_meanwhile(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.hurry(history_events=20)
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        before = await chain(house, session, runs=2)
        await house.client.prompt(session, "And then stop.")
        await house.answer(ask)
        await house.ended(session)
        messages = await house.client.transcript(session)
    assert activities(before[0])[-1] == "holdfast.asks.open" and activities(before[1]) == []
    assert (house.project / "a.txt").read_text() == "a"
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
