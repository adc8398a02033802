"""A context that grows too long gets a summary in place of its beginning, and the turn goes on."""

import json
from base64 import b64encode
from collections import deque
from pathlib import Path
from typing import Any, Final

import pytest

from activities.model.input_messages import CLEARED
from tests.harness import Harness, wait_for_file
from tests.workflows.conftest import Open
from worker.opencode.export import Exporter
from worker.scripted.script import Hold, Refuse, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.events.event import Event
from workflows.domain.events.generations import (
    CompactionFailed,
    ContextCompacted,
    ContextPruned,
    MessageCompleted,
    ModelRetry,
)
from workflows.domain.events.prompts import PromptShortened
from workflows.domain.events.turns import TurnEnded
from workflows.domain.generation import Purpose
from workflows.domain.ids import SessionId
from workflows.domain.messages import FilePart, TextPart
from workflows.domain.prompt import Prompt, UsedCommand
from workflows.domain.sent_request import RequestChoice

TASK: Final = "Count the files of this project. " * 10
WORDS: Final = "## Objective\nCount the files.\n\n## Work state\nnone\n\n## Next move\nSay done."
SUMMARY: Final = ScriptedAnswer(text=WORDS)
DONE: Final = ScriptedAnswer(text="Done.")
LIST: Final = ScriptedCall(name="glob", arguments={"pattern": "*"})
LONG: Final = ScriptedUsage(input=70_000, output=10)
FULL: Final = ScriptedAnswer(tools=(LIST,), usage=LONG)
STEPS: Final = 300
REFUSED: Final = "This model's maximum context length is 100000 tokens."
TOO_LONG: Final = Refuse(status=400, body={"error": {"message": REFUSED, "code": "context_length_exceeded"}})


def configure(harness: Harness, *, steps: int = STEPS, larger: str | None = None, **compaction: Any) -> None:
    """A model with a window of 100,000 tokens, of which 68,000 are for requests; no tail stays beside a summary."""
    harness.configure_person(
        model={"limit": {"context": 100_000, "output": 32_000}},
        compaction={"preserve_recent_tokens": 0, **compaction},
        agent={"build": {"steps": steps}},
        holdfast={"larger_model": larger} if larger else {},
    )


def script(*answers: ScriptedAnswer, summary: ScriptedAnswer = SUMMARY) -> dict[str, Script]:
    return {"default": Script(answers=answers, auxiliary_answer=summary)}


async def compactions(harness: Harness, session: SessionId) -> list[ContextCompacted]:
    return [event for event in await harness.events(session) if isinstance(event, ContextCompacted)]


async def export(harness: Harness, session: SessionId) -> list[Any]:
    """The messages, in OpenCode's form: clients sort them, and their parts, by ids."""
    records, overview = harness.client.records, await harness.client.sessions.get(session)
    exporter = Exporter(overview, overview.directory, summaries=await records.summaries(session))
    sessions = harness.client.sessions
    info = exporter.info(await sessions.origin(session), await sessions.totals(session), "global", "1")
    pieces = [piece async for piece in exporter.document(info, records.messages(session))]
    messages: list[Any] = json.loads("".join(pieces))["messages"]
    ids = [[each["info"]["id"] for each in messages], *([part["id"] for part in each["parts"]] for each in messages)]
    assert [sorted(each) for each in ids] == ids
    return messages


def sent(harness: Harness) -> list[tuple[str, Any]]:
    """The newest request's messages behind the instructions."""
    assert harness.model.last_request is not None
    return [(message["role"], message["content"]) for message in harness.model.last_request.body["messages"][1:]]


def is_done(event: Event) -> bool:
    return isinstance(event, TurnEnded) and event.reason == "done"


def is_step(event: Event) -> bool:
    return isinstance(event, MessageCompleted) and event.purpose is Purpose.STEP


async def test_a_full_context_is_compacted_before_the_next_step(open_harness: Open) -> None:
    async with open_harness(scripts=script(FULL, DONE)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        ended = await harness.ended(session)

        (compacted,) = await compactions(harness, session)
        asked = [entry.messages for entry in harness.model.ledger.entries]
        (_, question), (_, summary), (_, on) = sent(harness)
        shown = [await harness.client.records.sent(session, RequestChoice(step=step)) for step in (1, 2)]
        exported = [each["info"] | {"parts": each["parts"]} for each in await export(harness, session)]
        paid = [event for event in await harness.events(session) if isinstance(event, MessageCompleted)]
        verified = await harness.client.records.verify(session)

    assert is_done(ended) and len(asked) == 3 and not verified.problem
    assert (compacted.before, compacted.step) == (70_014, 1) and compacted.after < 100
    assert summary == WORDS and question and on
    assert [(each.as_sent, len(each.left_out)) for each in shown] == [(True, 0), (True, 1)]
    assert [each["role"] for each in exported] == ["user", "assistant", "user", "assistant", "user", "assistant"]
    _, _, request, summed, going_on, last = exported
    assert (request["parts"][0]["type"], request["parts"][0]["auto"]) == ("compaction", True) and summed["summary"]
    (text,) = going_on["parts"]
    assert text["synthetic"] and text["metadata"] == {"compaction_continue": True} and text["text"] in on
    assert (summed["parentID"], last["parentID"]) == (request["id"], going_on["id"])
    assert shown[1].left_out[0].what == "2 messages up to turn 1, step 1" and shown[0].counted == 70_000
    assert shown[1].counted is not None and 0.8 < shown[1].tokens / shown[1].counted < 1.2
    assert [each.purpose for each in paid] == [Purpose.STEP, Purpose.COMPACTION, Purpose.STEP]


async def test_a_context_that_the_provider_refuses_is_compacted(open_harness: Open) -> None:
    refused = DONE.model_copy(update={"faults": {1: TOO_LONG}})
    first = ScriptedAnswer(tools=(LIST,))
    async with open_harness(scripts=script(first, refused)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK * 10)
        ended = await harness.ended(session)
        found = await compactions(harness, session)
        exported = await export(harness, session)
        words = sent(harness)[2][1]

    assert is_done(ended) and len(found) == 1 and len(exported) == 6 and len(harness.model.ledger.entries) == 4
    assert "\n[…]\n" in words, "the person's stay in an eighth of what was refused, not of the configured limit"


@pytest.mark.parametrize("larger", [None, "scripted/larger"])
async def test_each_request_for_a_summary_that_is_refused_is_followed_by_a_shorter_one(
    open_harness: Open, larger: str | None
) -> None:
    """However much the configuration says that the model can take; the larger model gets all again."""
    refused = SUMMARY.model_copy(update={"faults": dict.fromkeys((1, 2), TOO_LONG)})
    async with open_harness(scripts=script(FULL, DONE, summary=refused)) as harness, harness.running_worker():
        configure(harness, larger=larger)
        harness.model.received = deque(maxlen=10)
        session = await harness.start_session(TASK * 30)
        ended = await harness.ended(session)
        _, first, second, third, _ = [len(str(request.body["messages"])) for request in harness.model.received]
        found = await compactions(harness, session)
        shown = await harness.client.records.sent(session, RequestChoice(purpose=Purpose.COMPACTION))

    assert is_done(ended) and len(found) == 1 and shown.as_sent
    assert second < first * 0.6 and (third == first if larger else third < second * 0.8)


async def test_a_result_that_goes_before_the_model_has_seen_it_is_named(open_harness: Open) -> None:
    refused = DONE.model_copy(update={"faults": {1: TOO_LONG}})
    reads = tuple(ScriptedCall(name="read", arguments={"filePath": name}) for name in ("long.txt", "short.txt"))
    scripts = script(ScriptedAnswer(tools=reads), refused)
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        configure(harness)
        harness.file("long.txt", "line\n" * 1000)
        harness.file("short.txt", "line\n")
        session = await harness.start_session(TASK)
        ended = await harness.ended(session)
        told = sent(harness)[-1][1]

    assert is_done(ended) and '\n- read {"filePath":"long.txt"}\n' in told and "short.txt" not in told


async def test_the_results_of_an_answer_leave_room_for_the_next_one(open_harness: Open) -> None:
    reads = tuple(ScriptedCall(name="read", arguments={"filePath": "a.txt", "offset": at}) for at in (1, 1001))
    long = ScriptedCall(name="bash", arguments={"command": "cat a.txt"})
    full = ScriptedAnswer(tools=(*reads, long), usage=ScriptedUsage(input=60_000, output=10))
    async with open_harness(scripts=script(full, DONE)) as harness, harness.running_worker():
        configure(harness)
        harness.file("a.txt", f"{'x' * 60}\n" * 3000)
        session = await harness.start_session(TASK)
        ended = await harness.ended(session)
        first, second, command = [call.outcome.output for call in await harness.calls(session) if call.outcome]
        found = await compactions(harness, session)

    assert is_done(ended) and not found
    assert all(7_000 < len(each) < 10_000 for each in (first, second, command))
    assert "there is no room for more. Use offset=" in first and "(Showing lines 1001-" in second
    assert command.startswith("(Shown: lines 1-") and " of 3000. All of it is in " in command


async def test_a_summary_that_is_none_is_said_and_not_asked_for_again_in_the_next_turn(open_harness: Open) -> None:
    none = SUMMARY.model_copy(update={"finish": "length"})
    later = ScriptedAnswer(text="Done.", usage=LONG)
    async with open_harness(scripts=script(FULL, later, later, summary=none)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        first = await harness.ended(session)
        paid = len(harness.model.ledger.entries)
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        second = await harness.ended(session, 2)
        events = await harness.events(session)
        verified = await harness.client.records.verify(session)

    answers = [event for event in events if isinstance(event, MessageCompleted)]
    assert is_done(first) and is_done(second) and not verified.problem
    assert paid == 5 and len(answers) == len(harness.model.ledger.entries) == 6
    assert [event.step for event in events if isinstance(event, CompactionFailed)] == [2, 2, 2]


async def test_a_prompt_that_alone_is_too_long_is_shortened_and_the_session_goes_on(open_harness: Open) -> None:
    refused = DONE.model_copy(update={"faults": dict.fromkeys((1, 2), TOO_LONG)})
    async with open_harness(scripts=script(refused, DONE)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session("The task. " + "x" * 500_000 + " The end.")
        first = await harness.ended(session)
        shown = sent(harness)
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        second = await harness.ended(session, 2)
        events = await harness.events(session)
        verified = await harness.client.records.verify(session)

    text = shown[0][1]
    assert is_done(first) and is_done(second) and not verified.problem
    assert [event.shown for event in events if isinstance(event, PromptShortened)] == [136_000, 68_000]
    assert "The task." in text and text.endswith("The end.") and "432,019 characters of it are left out" in text
    assert sent(harness)[: len(shown)] == shown and len(harness.model.ledger.entries) == 4


async def test_pictures_that_are_too_much_for_the_model_are_left_out_and_the_session_goes_on(
    open_harness: Open,
) -> None:
    refused = DONE.model_copy(update={"faults": {1: TOO_LONG}})
    async with open_harness(scripts=script(refused, DONE)) as harness, harness.running_worker():
        harness.configure_person(model={"attachment": True, "limit": {"context": 100_000, "output": 32_000}})
        content = b64encode(b"GIF89a" + bytes((9, 0, 9, 0))).decode()
        pictures = [
            FilePart(mime="image/gif", url=f"data:image/gif;base64,{content}", filename=f"{n}.gif") for n in "ab"
        ]
        asked = Prompt.of_text("What is it?", files=pictures, model="scripted/model")
        session = (await harness.client.start(str(harness.project), asked)).session
        first = await harness.ended(session)
        shown = sent(harness)
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        second = await harness.ended(session, 2)
        shortened = [event for event in await harness.events(session) if isinstance(event, PromptShortened)]
        fork = await harness.client.copies.fork_session(session)
        await harness.client.prompt(fork.session, Prompt.of_text("Count again."))
        await harness.ended(fork.session)
        verified = [await harness.client.records.verify(each) for each in (session, fork.session)]

    assert is_done(first) and is_done(second) and not any(each.problem for each in verified)
    assert [(event.shown, event.without_files) for event in shortened] == [(None, True)]
    assert content not in str(shown)
    assert "[Not attached: a.gif (image/gif) was left out to make room.]" in shown[0][1]
    assert sent(harness)[: len(shown)] == shown


async def test_a_prompt_between_two_requests_behind_a_summary_extends_the_first(open_harness: Open) -> None:
    busy = Refuse(status=503, headers={"retry-after": "1"}, body={"error": {"message": "overloaded"}})
    answers = (FULL, DONE.model_copy(update={"faults": {1: busy}}))
    async with open_harness(scripts=script(*answers)) as harness, harness.running_worker():
        configure(harness, steps=2)
        session = await harness.start_session(TASK)
        await harness.until(session, lambda event: isinstance(event, ModelRetry))
        first = sent(harness)
        await harness.client.prompt(session, Prompt.of_text("Hurry."))
        ended = await harness.ended(session)

    assert is_done(ended) and len(sent(harness)) == len(first) + 1 and sent(harness)[: len(first)] == first
    told = first[-1][1]
    assert "Go on from their next move" in told and "Today's date" in told and "used all of its steps (2)" in told


async def test_instructions_that_fill_the_context_are_compacted_once(open_harness: Open) -> None:
    looks = tuple(FULL.model_copy(update={"tools": (look(n),)}) for n in range(6))
    async with open_harness(scripts=script(*looks, DONE)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        ended = await harness.ended(session)
        found = await compactions(harness, session)

    assert is_done(ended) and len(found) == 1


def look(number: int) -> ScriptedCall:
    return ScriptedCall(name="glob", arguments={"pattern": f"*{number}"})


async def test_without_compaction_a_refused_context_ends_the_turn(open_harness: Open) -> None:
    refused = DONE.model_copy(update={"faults": {1: TOO_LONG}})
    async with open_harness(scripts=script(FULL, refused)) as harness, harness.running_worker():
        configure(harness, auto=False)
        session = await harness.start_session(TASK)
        ended = await harness.ended(session)

    assert isinstance(ended, TurnEnded) and ended.reason == "failed" and len(harness.model.ledger.entries) == 2


async def test_a_context_that_the_last_turn_has_filled_is_compacted_before_the_next_prompt(open_harness: Open) -> None:
    last = ScriptedAnswer(text="There are none.", usage=LONG)
    async with open_harness(scripts=script(last, DONE)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        await harness.ended(session)
        assert await compactions(harness, session) == []
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        ended = await harness.ended(session, 2)
        found = await compactions(harness, session)
        _, (_, summary), (_, prompt) = sent(harness)
        _, _, asked, request, _, answer = await export(harness, session)

    assert request["parts"][0]["tail_start_id"] == asked["info"]["id"] == answer["info"]["parentID"]
    assert is_done(ended) and len(found) == 1
    assert summary == WORDS and prompt.endswith("Count again.")


async def test_a_recent_part_of_the_conversation_stays_beside_the_summary(open_harness: Open) -> None:
    answers = (ScriptedAnswer(tools=(LIST,)), FULL, DONE)
    async with open_harness(scripts=script(*answers)) as harness, harness.running_worker():
        configure(harness, preserve_recent_tokens=200)
        harness.file("a.txt", "a")
        session = await harness.start_session("Count the files. " + "x" * 2000)
        ended = await harness.ended(session)
        (compacted,) = await compactions(harness, session)
        roles, told = [role for role, _ in sent(harness)], sent(harness)[2][1]
        _, _, recent, request, *_ = await export(harness, session)

    assert request["parts"][0]["tail_start_id"] == recent["info"]["id"]
    assert is_done(ended) and compacted.step == 1
    assert roles == ["user", "assistant", "user", "assistant", "tool", "user"]  # the last one tells the date again
    assert "Turn 1:\nCount the files. xx" in told and "What follows here is its newer part" in told


async def test_a_compacted_session_is_archived_and_goes_on_from_its_summary(open_harness: Open) -> None:
    async with open_harness(scripts=script(FULL, DONE, DONE)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        await harness.ended(session)
        await harness.workflow(session).result()
        archive = await harness.client.archives.archive(session)
        assert await harness.client.archives.restore(archive) == session
        verified = await harness.client.records.verify(session)
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        ended = await harness.ended(session, 2)
        summary = sent(harness)[1][1]

    assert is_done(ended) and not verified.problem and summary == WORDS


async def test_a_person_has_a_session_compacted_while_it_is_idle_and_while_it_works(
    open_harness: Open, tmp_path: Path
) -> None:
    """Whatever `auto` says; a prompt that comes meanwhile is taken behind it."""
    step, second = tmp_path / "step", tmp_path / "second"
    looks = ScriptedAnswer(tools=(LIST,), faults={1: Hold(path=str(step))})
    summaries = SUMMARY.model_copy(update={"faults": {2: Hold(path=str(second))}})
    async with open_harness(scripts=script(looks, DONE, DONE, summary=summaries)) as harness, harness.running_worker():
        configure(harness, auto=False)
        session = await harness.start_session(TASK)
        await wait_for_file(step)
        await harness.client.compact(session)
        step.touch()
        working = await harness.ended(session)
        during = len(harness.model.ledger.entries)

        await harness.client.compact(session, "the number of files")
        await wait_for_file(second)
        asked = sent(harness)[0][1]
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        second.touch()
        idle = await harness.ended(session, 2)
        next_turn = await harness.ended(session, 3)
        found = await compactions(harness, session)
        verified = await harness.client.records.verify(session)
        _, (_, summary), (_, prompt) = sent(harness)

    assert is_done(working) and is_done(idle) and is_done(next_turn) and not verified.problem
    assert during == 3 and "kept in them above all:\n\nthe number of files" in asked
    assert len(found) == 2 and len(harness.model.ledger.entries) == 5
    assert summary == WORDS and prompt.endswith("Count again.")


async def test_what_a_person_has_typed_stays_word_for_word_beside_the_notes(open_harness: Open) -> None:
    """Through every compaction, and the same bytes until the next one; what is deleted or withdrawn does not."""
    async with open_harness(scripts=script(FULL, DONE, DONE, DONE, FULL, DONE)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session("Never touch b.txt.")
        await harness.ended(session)
        used = UsedCommand(name="check", arguments="all of it", template="d")
        typed = Prompt(parts=(TextPart(text="The template says much about all of it."),), command=used)
        await harness.client.prompt(session, typed)
        await harness.ended(session, 2)
        await harness.client.prompt(session, Prompt.of_text("The key is 1234."))
        await harness.ended(session, 3)
        rows = [row async for row in harness.client.records.messages(session)]
        (pasted,) = (row.message.id for row in rows if "key is 1234" in str(row))
        await harness.client.deletions.delete_message(session, pasted)
        first = [text for _, text in sent(harness)]
        await harness.client.prompt(session, Prompt.of_text("Now a.txt. " + "x" * 10_000))
        ended = await harness.ended(session, 4)
        found = await compactions(harness, session)
        (_, summary), (_, told), *_ = sent(harness)[1:]
        shown = await harness.client.records.sent(session, RequestChoice(turn=4, step=2))
        asked = await harness.client.records.sent(session, RequestChoice(purpose=Purpose.COMPACTION))

    assert is_done(ended) and len(found) == 2 and summary == WORDS and shown.as_sent and asked.as_sent
    assert "Turn 1:\nNever touch b.txt." in first[2] and "[User]: Never touch b.txt." in str(asked)
    kept = "Turn 1:\nNever touch b.txt.\n\nTurn 2:\n/check all of it\n\nTurn 4:\nNow a.txt. xxx"
    assert kept in told and "1234" not in told and "\n[…]\n" in told and 7_500 < len(told) < 9_000


async def test_a_long_turn_goes_on_through_its_compactions(open_harness: Open, scale: int) -> None:
    """300 steps with `--scale 3`."""
    last = 100 * scale
    calls = (ScriptedCall(name="read", arguments={"filePath": "a.txt", "offset": line}) for line in range(1, 40))
    answers = tuple(ScriptedAnswer(tools=(call,)) for call in calls)
    scripts = {"default": Script(answers=answers, auxiliary_answer=SUMMARY, last_answer=DONE)}
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure_person(model={"limit": {"context": 8_000, "output": 2_000}}, agent={"build": {"steps": last}})
        harness.file("a.txt", "A line of a file.\n" * 40)
        session = await harness.start_session("Read it again and again.")
        for steps in range(50, last, 50):
            await harness.until(session, is_step, times=steps)
        ended = await harness.ended(session)
        found = await compactions(harness, session)
        paid = [event for event in await harness.events(session) if isinstance(event, MessageCompleted)]
        shown = [await harness.client.records.sent(session, RequestChoice(step=step)) for step in (1, 39, 80, last)]

    assert all(each.as_sent for each in shown)
    assert is_done(ended) and sum(map(is_step, paid)) == last and len(found) > last / 10
    assert max(answer.tokens.context for answer in paid) < 8_000
    assert [each.step for each in found] == sorted({each.step for each in found})


async def test_old_results_are_cleared_from_what_the_model_sees(open_harness: Open) -> None:
    """Where that is enough, no summary is asked for: the tokens of the answer before had them."""
    files = [f"{number}.txt" for number in range(8)]
    read = ScriptedAnswer(tools=tuple(ScriptedCall(name="read", arguments={"filePath": name}) for name in files))
    full = DONE.model_copy(update={"usage": ScriptedUsage(input=170_000, output=10)})
    async with open_harness(scripts=script(read, DONE, full, DONE, DONE, DONE)) as harness, harness.running_worker():
        limit = {"context": 200_000, "output": 32_000}
        harness.configure_person(model={"limit": limit}, compaction={"prune": True})
        for name in files:
            harness.file(name, "one of many lines\n" * 2_000)
        session = await harness.start_session("Read.")
        for turn, words in enumerate(("Well?", "And?", "Then @0.txt?"), 2):
            await harness.ended(session, turn - 1)
            await harness.client.prompt(session, Prompt.of_text(words))
        ended = await harness.ended(session, 4)
        pruned = [event for event in await harness.events(session) if isinstance(event, ContextPruned)]
        results = [content for role, content in sent(harness) if role == "tool"]
        exported = [details async for details in harness.client.records.messages(session)]
        compacted = await compactions(harness, session)
        shown = await harness.client.records.sent(session, RequestChoice())

    assert shown.as_sent and [each.why for each in shown.left_out] == ["cleared by pruning, as old"]
    assert is_done(ended) and len(pruned) == 1 and pruned[0].tokens > 20_000 and not compacted
    cleared = [result == CLEARED for result in results]
    assert cleared == sorted(cleared, reverse=True) and 1 < sum(cleared) < 9
    times = [time.cleared for details in exported for time in details.call_times.values()]
    assert sum(time is not None for time in times) == sum(cleared)
