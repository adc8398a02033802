"""Answers that the output limit has cut: continued in their text, asked for again in their calls."""

from tests.harness import Harness
from tests.workflows.conftest import Open
from tests.workflows.delegation import delegates, delegation_scripts, tasks
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.sent_request import RequestChoice
from workflows.domain.turn_state import MAX_CONTINUATIONS


def cut(text: str = "", *tools: ScriptedCall, reasoning: str = "") -> ScriptedAnswer:
    return ScriptedAnswer(text=text, tools=tools, reasoning=reasoning, finish="length")


def sent(harness: Harness) -> list[tuple[str, str]]:
    """The newest request's messages."""
    assert harness.model.last_request is not None
    return [(message["role"], message["content"]) for message in harness.model.last_request.body["messages"]]


async def play(harness: Harness, *, bounded: bool = True) -> tuple[SessionId, TurnEnded]:
    """`bounded`: requests have an output limit."""
    harness.configure_person(model={"limit": {"context": 100_000, "output": 4_000}} if bounded else {})
    session = await harness.start_session("Say it.")
    ended = await harness.ended(session)
    assert isinstance(ended, TurnEnded)
    return session, ended


async def test_a_cut_text_goes_on_in_the_next_answer_and_is_a_subagents_result_as_a_whole(open_harness: Open) -> None:
    whole = ScriptedAnswer(text="g in a.txt.")
    scripts = delegation_scripts(
        delegates("child"),
        cut("All i"),
        ScriptedAnswer(text="s done."),
        child=(cut("I have found th"), cut("e bu"), whole),
    )
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        session, ended = await play(harness)
        (call,) = await tasks(harness, session)
        *_, answer, reminder = sent(harness)
        shown = [await harness.client.records.sent(session, RequestChoice(step=step)) for step in (2, 3)]

    assert ended.reason == "done" and call.outcome is not None
    assert "I have found the bug in a.txt." in call.outcome.output
    assert answer == ("assistant", "All i") and reminder[0] == "user" and "reached its output limit" in reminder[1]
    assert len(harness.model.ledger.entries) == 6 and all(each.as_sent for each in shown)


async def test_a_cut_text_is_continued_a_few_times_and_then_said(open_harness: Open) -> None:
    async with open_harness(*[cut("la ")] * 9) as harness, harness.running_worker():
        _, ended = await play(harness)
    assert ended.reason == "done" and len(harness.model.ledger.entries) == MAX_CONTINUATIONS + 1


async def test_a_text_that_no_limit_of_ours_has_cut_is_not_continued(open_harness: Open) -> None:
    async with open_harness(cut("la ")) as harness, harness.running_worker():
        _, ended = await play(harness, bounded=False)
    assert ended.reason == "done" and len(harness.model.ledger.entries) == 1


async def test_a_cut_call_is_not_run_and_the_model_is_told_why(open_harness: Open) -> None:
    look = ScriptedCall(name="glob", arguments={"pattern": "*"})
    begun = ScriptedCall(name="todowrite", arguments="")
    write = ScriptedCall(name="write", arguments='{"filePath": "a.txt", "content": "la')
    answers = cut("", look, begun), *[cut("", write)] * 9
    async with open_harness(*answers) as harness, harness.running_worker():
        session, ended = await play(harness)
        calls = await harness.calls(session)
        asks = await harness.client.inbox.asks(session=session)
        results = [content for role, content in sent(harness) if role == "tool"]

    assert [call.tool for call in calls] == ["glob", *["invalid"] * 4]
    assert ended.reason == "failed" and not asks and len(harness.model.ledger.entries) == MAX_CONTINUATIONS + 1
    assert all("reached its output limit" in each for each in results[1:]) and calls[2].arguments["tool"] == "write"
