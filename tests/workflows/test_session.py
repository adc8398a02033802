"""Sessions from prompt to idle: a real engine, a real database, a model over HTTP."""

import random
import time
from pathlib import Path

import pytest

from tests.harness import wait_for_file
from tests.histories.history_scenarios import DONE, WRITE
from tests.workflows.conftest import Open
from tests.workflows.session_runs import activities, session_histories
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall, StreamError
from workflows.domain import search_attributes
from workflows.domain.errors import Conflict
from workflows.domain.events.prompts import PromptTaken
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import MessageId, Prefix, mint
from workflows.domain.messages import AssistantMessage, CallState, TextPart
from workflows.domain.prompt import Prompt, PromptMode


async def test_a_prompt_is_answered_and_the_turn_ends(open_harness: Open) -> None:
    async with open_harness(ScriptedAnswer(text="Hello to you.")) as harness, harness.running_worker():
        session = await harness.start_session("Hello?")
        ended = await harness.ended(session)
        messages = await harness.client.records.transcript(session)
        verified = await harness.client.records.verify(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [message.role for message in messages] == ["user", "assistant"]
    assert isinstance(messages[1], AssistantMessage) and messages[1].parts == (TextPart(text="Hello to you."),)
    assert verified.problem is None and verified.events > 4


async def test_messages_sort_behind_a_prompt_of_a_clock_that_is_ahead(open_harness: Open) -> None:
    ahead = MessageId(mint(Prefix.MESSAGE, time.time_ns() // 1_000_000 + 60_000, 0, random.Random(1)))
    async with open_harness(DONE, DONE) as harness, harness.running_worker():
        hello = Prompt.of_text("Hello?", model="scripted/model")
        session = (await harness.client.start(str(harness.project), hello, prompt=ahead)).session
        await harness.ended(session)
        await harness.client.prompt(session, "Still there?")
        await harness.ended(session, 2)
        ids = [message.id for message in await harness.client.records.transcript(session)]
    assert len(ids) == 4 and ids == sorted(ids) and ids[0] == ahead


async def test_a_tool_call_runs_and_the_model_reads_its_output(open_harness: Open) -> None:
    script = (
        ScriptedAnswer(text="Let me look.", tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),)),
        ScriptedAnswer(text="It says hello."),
    )
    async with open_harness(*script) as harness, harness.running_worker():
        harness.file("a.txt", "hello\n")
        session = await harness.start_session("What does a.txt say?")
        await harness.ended(session)
        (call,) = await harness.calls(session)
    assert call.outcome is not None and "1: hello" in call.outcome.output
    assert [entry.step for entry in harness.model.ledger.entries] == [0, 1]


async def test_the_last_of_an_agents_steps_ends_the_turn(open_harness: Open) -> None:
    look = ScriptedAnswer(text="Once more.", tools=(ScriptedCall(name="glob", arguments={"pattern": "*.py"}),))
    last = ScriptedAnswer(text="I looked once, and found nothing.")
    async with open_harness(look, last, look) as harness, harness.running_worker():
        harness.configure(agent={"build": {"steps": 2}})
        ended = await harness.ended(await harness.start_session("Look for Python files."))
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [entry.step for entry in harness.model.ledger.entries] == [0, 1]


def touches(name: str, text: str = "") -> ScriptedAnswer:
    return ScriptedAnswer(text=text, tools=(ScriptedCall(name="bash", arguments={"command": f"touch {name}"}),))


@pytest.mark.parametrize("events", [2000, 12])
async def test_calls_of_the_last_step_are_refused_and_without_a_text_the_turn_fails(
    open_harness: Open, events: int
) -> None:
    async with open_harness(touches("a"), touches("b"), touches("c"), DONE) as harness, harness.running_worker():
        harness.set_limits(history_events=events)
        harness.configure(agent={"build": {"steps": 2}})
        session = await harness.start_session("Go.")
        ended = await harness.ended(session)
        states = [call.state for call in await harness.calls(session)]
        error = (await harness.client.sessions.get(session)).error
        runs = await session_histories(harness, session)

    assert isinstance(ended, TurnEnded) and ended.reason == "failed"
    assert error is not None and "used up its 2 steps without an answer" in error
    assert states == [CallState.DONE, CallState.REFUSED, CallState.REFUSED]
    assert [path.name for path in harness.project.iterdir() if len(path.name) == 1] == ["a"]
    assert [entry.step for entry in harness.model.ledger.entries] == [0, 1, 2] and (len(runs) > 1) == (events == 12)


async def test_a_text_beside_refused_calls_is_no_answer_yet(open_harness: Open) -> None:
    async with open_harness(touches("a", "I will touch it."), DONE) as harness, harness.running_worker():
        harness.configure(agent={"build": {"steps": 1}})
        session = await harness.start_session("Go.")
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)

    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.outcome is not None and "no more tools can be called" in call.outcome.output
    assert not (harness.project / "a").exists() and len(harness.model.ledger.entries) == 2


async def test_a_text_after_refused_calls_is_the_answer(open_harness: Open) -> None:
    async with open_harness(touches("a"), DONE) as harness, harness.running_worker():
        harness.configure(agent={"build": {"steps": 1}})
        ended = await harness.ended(await harness.start_session("Go."))

    assert isinstance(ended, TurnEnded) and ended.reason == "done" and not (harness.project / "a").exists()


async def test_a_stop_while_the_text_of_the_last_step_is_awaited_is_no_failure(
    open_harness: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = DONE.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_harness(touches("a"), held) as harness, harness.running_worker():
        harness.configure(agent={"build": {"steps": 1}})
        session = await harness.start_session("Go.")
        await wait_for_file(gate)
        await harness.client.stop(session)
        ended = await harness.ended(session)
        gate.touch()

    assert isinstance(ended, TurnEnded) and (ended.reason, ended.note) == ("stopped", None)


async def test_a_prompt_sent_while_the_model_answers_steers_the_turn(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = (
        ScriptedAnswer(
            text="Looking.",
            tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),),
            faults={1: Hold(after=1, path=str(gate))},
        ),
        ScriptedAnswer(text="Both done."),
    )
    async with open_harness(*script) as harness, harness.running_worker():
        session = await harness.start_session("First task.")
        await wait_for_file(gate)
        await harness.client.prompt(session, "Second task.")
        gate.touch()
        await harness.ended(session)
        messages = await harness.client.records.transcript(session)
        events = await harness.events(session)
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert [event.step for event in events if isinstance(event, PromptTaken)] == [1, 2]
    assert len(harness.model.ledger.entries) == 2


async def test_a_queued_prompt_gets_a_turn_of_its_own(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = (
        ScriptedAnswer(text="First.", faults={1: Hold(after=0, path=str(gate))}),
        ScriptedAnswer(text="Second."),
    )
    async with open_harness(*script) as harness, harness.running_worker():
        session = await harness.start_session("First task.")
        await wait_for_file(gate)
        await harness.client.prompt(session, Prompt.of_text("Second task.", mode=PromptMode.QUEUE))
        gate.touch()
        await harness.ended(session, 2)
        messages = await harness.client.records.transcript(session)
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert len({message.turn for message in messages}) == 2


async def test_a_stop_ends_the_turn_and_a_prompt_after_it_starts_one_turn(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = (
        ScriptedAnswer(text="Never finished.", faults={1: Hold(after=1, path=str(gate))}),
        ScriptedAnswer(text="The next."),
    )
    async with open_harness(*script) as harness, harness.running_worker():
        session = await harness.start_session("A long task.")
        await wait_for_file(gate)
        stopped = await harness.client.stop(session)
        await harness.client.prompt(session, "Something else.")
        await harness.ended(session, 2)
        events = await harness.events(session)
    ends = [(event.turn, event.reason) for event in events if isinstance(event, TurnEnded)]
    assert ends[0] == (stopped.turn, "stopped") and ends[1][1] == "done" and len(ends) == 2


async def test_the_text_of_a_stopped_answer_is_kept_and_sent_on(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="I would delete the table.", chunk=18, faults={1: Hold(after=2, path=str(gate))})
    async with open_harness(held, ScriptedAnswer(text="The next.")) as harness, harness.running_worker():
        session = await harness.start_session("What would you do?")
        await wait_for_file(gate)
        await harness.client.stop(session)
        await harness.ended(session)
        await harness.client.prompt(session, "Not that one.")
        await harness.ended(session, 2)
        told = [message for message in await harness.client.records.transcript(session) if message.role == "assistant"]

    assert told[0].parts == (TextPart(text="I would delete the"),)
    sent = harness.model.received[-1].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"] == "I would delete the" and "Not that one." in str(sent[3]["content"])


async def test_a_retry_asks_anew_for_an_answer_that_broke_off(open_harness: Open) -> None:
    used_up = StreamError(after=2, error={"code": "insufficient_quota", "message": "You have no quota left."})
    answer = ScriptedAnswer(text="The whole of it.", chunk=9, faults={1: used_up})
    async with open_harness(answer, ScriptedAnswer(text="More.")) as harness, harness.running_worker():
        session = await harness.start_session("Tell me.")
        await harness.ended(session)
        await harness.client.retry(session)
        await harness.ended(session, 2)
        again = [message["role"] for message in harness.model.received[-1].body["messages"]]
        await harness.client.prompt(session, "And?")
        await harness.ended(session, 3)
        told = [message for message in await harness.client.records.transcript(session) if message.role == "assistant"]

    assert again == ["system", "user"]
    assert [part.text for each in told for part in each.parts if isinstance(part, TextPart)] == [
        "The whole",
        "The whole of it.",
        "More.",
    ]
    sent = [
        message["content"] for message in harness.model.received[-1].body["messages"] if message["role"] == "assistant"
    ]
    assert sent == ["The whole of it."]


async def test_a_stop_that_keeps_what_is_queued_leaves_it_a_turn(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="Never finished.", faults={1: Hold(after=1, path=str(gate))})
    async with open_harness(held, ScriptedAnswer(text="The next.")) as harness, harness.running_worker():
        session = await harness.start_session("A long task.")
        await wait_for_file(gate)
        await harness.client.prompt(session, Prompt.of_text("Something else.", mode=PromptMode.QUEUE))
        await harness.client.stop(session, keep_queued=True)
        await harness.ended(session, 2)
        events = await harness.events(session)
    assert [event.reason for event in events if isinstance(event, TurnEnded)] == ["stopped", "done"]


async def test_a_stop_ends_a_running_command_and_its_group(open_harness: Open) -> None:
    script = (ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "touch begun; sleep 600"}),)),)
    async with open_harness(*script) as harness, harness.running_worker():
        session = await harness.start_session("Sleep.")
        await wait_for_file(harness.project / "begun", suffix="")
        await harness.client.stop(session)
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
    assert call.state is CallState.CANCELLED


async def test_an_ended_session_refuses_prompts(open_harness: Open) -> None:
    async with open_harness(ScriptedAnswer(text="Hello.")) as harness, harness.running_worker():
        session = await harness.start_session("Hello?")
        await harness.ended(session)
        await harness.client.end(session)
        with pytest.raises(Conflict, match="has ended"):
            await harness.client.prompt(session, "More?")


async def test_cancelling_the_workflow_ends_the_session(open_harness: Open, tmp_path: Path) -> None:
    script = ScriptedAnswer(text="Never.", faults={1: Hold(after=1, path=str(tmp_path / "gate"))})
    async with open_harness(script) as harness, harness.running_worker():
        session = await harness.start_session("Hello?")
        await wait_for_file(tmp_path / "gate")
        await harness.workflow(session).cancel()
        await harness.until(session, lambda event: event.type == "session.ended")
        overview = await harness.client.sessions.get(session)
    assert (overview.status, overview.turn_state) == ("ended", "ended")


@pytest.mark.parametrize("by_a_person", [True, False], ids=["end", "cancel"])
async def test_the_end_of_a_session_closes_its_open_ask(open_harness: Open, by_a_person: bool) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        run = harness.workflow(session)
        await (harness.client.end(session) if by_a_person else run.cancel())
        await harness.ended(session)
        assert await harness.client.inbox.asks(session=session) == []
        with pytest.raises(Conflict, match="closed"):
            await harness.answer(ask)
        (call,) = await harness.calls(session)
    assert call.state is CallState.CANCELLED and not (harness.project / "a.txt").exists()


async def test_a_new_run_goes_on_after_a_terminated_one(open_harness: Open) -> None:
    script = (
        ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "a"}),)),
        ScriptedAnswer(text="Done."),
    )
    async with open_harness(*script) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.workflow(session).terminate()
        await harness.answer(ask)
        await harness.ended(session)
    assert (harness.project / "a.txt").read_text() == "a"
    assert [entry.step for entry in harness.model.ledger.entries] == [0, 1]


async def test_a_session_is_found_by_its_id_directory_and_agent(open_harness: Open) -> None:
    async with open_harness(DONE) as harness:
        session = await harness.start_session("Hello?")
        run = await harness.workflow(session).describe()
    found = {pair.key.name: pair.value for pair in run.typed_search_attributes}
    assert found == {
        search_attributes.SESSION: session,
        search_attributes.DIRECTORY: str(harness.project),
        search_attributes.AGENT: "build",
    }


async def test_continue_as_new_keeps_an_open_ask_and_what_comes_meanwhile(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.set_limits(history_events=20)
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        before = await session_histories(harness, session, runs=2)
        await harness.client.prompt(session, "And then stop.")
        await harness.answer(ask)
        await harness.ended(session)
        messages = await harness.client.records.transcript(session)
    assert activities(before[0])[-1] == "holdfast.asks.open" and activities(before[1]) == []
    assert (harness.project / "a.txt").read_text() == "a"
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
