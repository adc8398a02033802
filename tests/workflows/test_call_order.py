"""The calls of one answer happen in its order, where order can be seen."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness import Harness
from tests.workflows.conftest import Open
from tests.workflows.session_runs import activities
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.events.asks import AskClosed, AskRaised
from workflows.domain.events.calls import CallDrifted
from workflows.domain.events.event import Event
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, ToolPart
from workflows.domain.permissions.replies import Reply

DONE = ScriptedAnswer(text="Done.")
TEXT = "one\ntwo\nthree\n"


def call(name: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=name, arguments=arguments)


def edit(old: str, new: str, file: str = "a.txt") -> ScriptedCall:
    return call("edit", filePath=file, oldString=old, newString=new)


def patch(*lines: str) -> ScriptedCall:
    return call("apply_patch", patchText="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def answer(*calls: ScriptedCall) -> ScriptedAnswer:
    return ScriptedAnswer(tools=calls)


def outputs(calls: list[ToolPart]) -> list[str]:
    return [each.outcome.output if each.outcome else "" for each in calls]


def drifts(events: list[Event]) -> list[bool]:
    """Of each call that was planned anew, whether its own answer was the cause."""
    return [event.by_answer for event in events if isinstance(event, CallDrifted)]


async def open_digests(harness: Harness, session: SessionId) -> list[str]:
    return [entry.digest for entry in await harness.client.inbox.asks(session=session)]


async def test_what_stands_behind_an_edit_sees_it_and_what_stands_before_does_not(open_harness: Open) -> None:
    calls = (
        call("read", filePath="a.txt"),
        call("write", filePath="new.txt", content="new\n"),
        edit("one", "1"),
        call("read", filePath="a.txt"),
        call("read", filePath="new.txt"),
        call("grep", pattern="1|new"),
        call("bash", command="cat a.txt new.txt"),
        edit("two", "2"),
        call("bash", command="cat a.txt"),
    )
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.file("a.txt", TEXT)
        session = await harness.start_session("Go.")
        await harness.ended(session)
        found = outputs(await harness.calls(session))
        events = await harness.events(session)
    assert "1: one" in found[0] and "1: 1" in found[3] and "1: new" in found[4] and "Found 2 matches" in found[5]
    assert (found[6], found[8]) == ("1\ntwo\nthree\nnew\n", "1\n2\nthree\n")
    assert drifts(events) == []


@pytest.mark.parametrize(
    ("write", "left"),
    [
        (call("write", filePath="a.txt", content="mine\n"), "mine\n"),
        (patch("*** Add File: a.txt", "+mine"), "mine\n"),
        (patch("*** Update File: b.txt", "*** Move to: a.txt"), "b\n"),
        (patch("*** Delete File: a.txt"), None),
    ],
    ids=["write", "add", "move", "delete"],
)
async def test_a_write_over_an_unseen_change_is_no_question_until_the_file_was_read(
    open_harness: Open, write: ScriptedCall, left: str | None
) -> None:
    read = call("read", filePath="a.txt")
    steps = (answer(read), answer(call("bash", command="echo theirs >> a.txt")), answer(write), answer(read, write))
    async with open_harness(*steps, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask", "bash": "allow"})
        harness.file("a.txt", TEXT)
        harness.file("b.txt", "b\n")
        session = await harness.start_session("Go.")
        for number in (1, 2):
            (ask,) = await harness.wait_for_asks(session, number)
            await harness.answer(ask)
        await harness.ended(session)
        found = await harness.calls(session)
    assert [each.state for each in found if each.tool == write.name] == [CallState.FAILED, CallState.DONE]
    assert "has changed since you last read or wrote it" in outputs(found)[2]
    file = harness.project / "a.txt"
    assert (file.read_text() if file.exists() else None) == left


async def test_patches_and_edits_of_one_answer_build_on_each_other(open_harness: Open) -> None:
    calls = (
        edit("one", "1"),
        patch("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-1", "+first", " two"),
        edit("first\ntwo", "2", file="b.txt"),
        patch("*** Update File: b.txt", "@@", "-2", "+second", "*** Add File: c.txt", "+new"),
        call("bash", command="cat b.txt c.txt"),
    )
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        harness.file("a.txt", TEXT)
        session = await harness.start_session("Go.")
        for ask in await harness.wait_for_asks(session, 4):
            await harness.answer(ask)
        await harness.ended(session)
        found = outputs(await harness.calls(session))
        events = await harness.events(session)
    assert found[4] == "second\nthree\nnew\n" and not (harness.project / "a.txt").exists()
    assert sum(event.type == "ask.raised" for event in events) == 4 and drifts(events) == []


async def test_an_edit_is_asked_about_first_and_its_test_runs_after_the_answer(open_harness: Open) -> None:
    calls = (edit("one", "1"), call("bash", command="cat a.txt"), call("bash", command="cat b.txt"))
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask", "bash": {"*": "ask", "cat a.txt": "allow"}})
        harness.file("a.txt", TEXT)
        harness.file("b.txt", "b\n")
        session = await harness.start_session("Go.")
        (first,) = await harness.wait_for_asks(session)
        await harness.answer(first)
        (second,) = await harness.wait_for_asks(session, 2)
        await harness.answer(second)
        await harness.ended(session)
        found = outputs(await harness.calls(session))
        events = await harness.events(session)
    assert found[1:] == ["1\ntwo\nthree\n", "b\n"]
    assert sum(event.type == "ask.raised" for event in events) == 2 and drifts(events) == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
async def test_three_edits_of_a_file_are_three_asks_each_shown_as_it_will_be(
    open_harness: Open, order: tuple[int, ...]
) -> None:
    calls = (edit("one", "1"), edit("1\ntwo", "1\n2"), edit("2\nthree", "2\n3"))
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        harness.file("a.txt", TEXT)
        session = await harness.start_session("Go.")
        await harness.wait_for_asks(session, 3)
        entries = sorted(await harness.client.inbox.asks(session=session), key=lambda entry: place_of(entry.request))
        assert [entry.builds_on for entry in entries] == [(), ("a1",), ("a1", "a2")]
        for place in order:
            await harness.answer(entries[place].id, digest=entries[place].digest)
        await harness.ended(session)
        events = await harness.events(session)
    assert (harness.project / "a.txt").read_text() == "1\n2\n3\n"
    assert sum(event.type == "ask.raised" for event in events) == 3 and drifts(events) == []


async def test_asks_are_opened_listed_and_named_in_the_order_of_the_calls(open_harness: Open) -> None:
    names = [f"{name}.txt" for name in "hgfedcba"]
    calls = [call("write", filePath=name, content="x") for name in names]
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Go.")
        await harness.wait_for_asks(session, len(names))
        entries = await harness.client.inbox.asks(session=session)
        raised = [event.ask for event in await harness.events(session) if isinstance(event, AskRaised)]
        listed = await harness.client.inbox.ask_ids()
        for entry in entries:
            await harness.answer(entry.id)
        await harness.ended(session)
    assert [entry.arguments["filePath"] for entry in entries] == names
    assert [entry.name for entry in entries] == [f"a{number}" for number in range(1, 9)]
    assert [entry.id for entry in entries] == raised == listed


def place_of(request: Any) -> int:
    """The place of an edit by the last line that its difference adds."""
    return int(str(request.requests[0].metadata["diff"]).rpartition("\n+")[2][0])


async def test_without_asks_nothing_drifts(open_harness: Open) -> None:
    calls = [edit(word, f"{word}!") for word in ("one", "two", "three", "one!", "two!")]
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.file("a.txt", TEXT)
        session = await harness.start_session("Go.")
        await harness.ended(session)
        states = [each.state for each in await harness.calls(session)]
        events = await harness.events(session)
    assert (harness.project / "a.txt").read_text() == "one!!\ntwo!!\nthree!\n"
    assert states == [CallState.DONE] * 5 and drifts(events) == []


async def test_when_an_edit_is_refused_those_that_build_on_it_are_asked_anew(open_harness: Open) -> None:
    calls = (edit("one", "1"), edit("two", "2"), edit("three", "3"))
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        harness.file("a.txt", TEXT)
        session = await harness.start_session("Go.")
        await harness.wait_for_asks(session, 3)
        before = sorted(await harness.client.inbox.asks(session=session), key=lambda entry: place_of(entry.request))
        await harness.answer(before[0].id, Reply.REJECT, feedback="keep that line")
        await harness.wait_for_asks(session, 5)
        after = sorted(await harness.client.inbox.asks(session=session), key=lambda entry: place_of(entry.request))
        for entry in reversed(after):
            await harness.answer(entry.id, digest=entry.digest)
        await harness.ended(session)
        events = await harness.events(session)
    closed = [event.ask for event in events if isinstance(event, AskClosed)]
    assert sorted(closed) == sorted(entry.id for entry in before[1:])
    assert len(after) == 2 and not {entry.id for entry in after} & {entry.id for entry in before}
    assert (harness.project / "a.txt").read_text() == "one\n2\n3\n"
    assert drifts(events) == [True, True]


async def test_what_somebody_else_changed_meanwhile_is_drift(open_harness: Open) -> None:
    calls = (call("read", filePath="a.txt"), edit("one", "1"), edit("two", "2"))
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        file = harness.file("a.txt", TEXT)
        session = await harness.start_session("Go.")
        await harness.wait_for_asks(session, 2)
        file.write_text(f"{TEXT}four\n")
        entries = sorted(await harness.client.inbox.asks(session=session), key=lambda entry: place_of(entry.request))
        await harness.answer(entries[0].id)
        await harness.wait_for_asks(session, 4)
        for entry in await harness.client.inbox.asks(session=session):
            await harness.answer(entry.id)
        await harness.ended(session)
        events = await harness.events(session)
    assert file.read_text() == "1\n2\nthree\nfour\n"
    assert drifts(events).count(False) == 1


async def test_a_command_behind_another_that_may_change_something_waits_for_it(
    open_harness: Open, tmp_path: Path
) -> None:
    calls = (call("bash", command="sleep 0.3; echo 1 > out.txt"), call("bash", command="cat out.txt"))
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        session = await harness.start_session("Go.")
        await harness.ended(session)
        found = outputs(await harness.calls(session))
    assert found[1] == "1\n"


async def test_reads_run_within_the_task_beside_what_waits_for_them(open_harness: Open) -> None:
    calls = (call("read", filePath="a.txt"), edit("one", "1"))
    async with open_harness(answer(*calls), DONE) as harness, harness.running_worker():
        harness.file("a.txt", TEXT)
        session = await harness.start_session("Go.")
        await harness.ended(session)
        ran = activities(await harness.history(session))
    assert ran.count("holdfast.tools.run") == 1


async def test_a_run_that_is_resumed_keeps_the_order(open_harness: Open) -> None:
    calls = (edit("one", "1"), edit("two", "2"), call("bash", command="cat a.txt"))
    async with open_harness(answer(*calls), DONE) as harness:
        harness.configure(permission={"edit": "ask"})
        harness.file("a.txt", TEXT)
        async with harness.running_worker():
            session = await harness.start_session("Go.")
            asks = await harness.wait_for_asks(session, 2)
            await harness.workflow(session).terminate()
        for ask in reversed(asks):
            await harness.answer(ask)
        async with harness.running_worker():
            await harness.ended(session)
        found = outputs(await harness.calls(session))
        events = await harness.events(session)
    assert found[2] == "1\n2\nthree\n" and drifts(events) == []
