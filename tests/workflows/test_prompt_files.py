"""Files that a prompt names: read as its first step, by the rules of a read, and sent so for ever."""

import json
from base64 import b64encode
from io import BytesIO
from typing import Any, Final

from PIL import Image

from tests.harness import Harness
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, LOOK, delegates, delegation_scripts
from worker.scripted.script import ScriptedAnswer
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, FilePart, TextPart
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt

LAST: Final = "This turn has used all of its steps (2), and no more tools can be called in this turn."
UNASKED: Final = ScriptedAnswer(text="No model answers while files are read.")


async def start(harness: Harness, text: str, *files: FilePart) -> SessionId:
    prompt = Prompt(parts=(TextPart(text=text), *files), model="scripted/model")
    return (await harness.client.start(str(harness.project), prompt)).session


def named(harness: Harness, name: str, query: str = "") -> FilePart:
    return FilePart(mime="text/plain", url=(harness.project / name).as_uri() + query, filename=name)


def contents(harness: Harness) -> list[tuple[str, str]]:
    request = harness.model.last_request
    assert request is not None
    return [(each["role"], str(each.get("content"))) for each in request.body["messages"]]


async def test_they_are_read_before_a_model_is_asked_and_prose_stays_prose(open_harness: Open) -> None:
    async with open_harness(UNASKED, DONE, UNASKED, DONE) as harness, harness.running_worker():
        harness.configure(agent={"build": {"steps": 1}})
        harness.file("src/a.py", "".join(f"line {n}\n" for n in range(1, 31)))
        harness.file("b (1).txt", "of b\n")
        text = "Ask me@example.com about @src/a.py#L10-12, @src/ and @nothing (not @src/a.py#L10-12): @Override"
        session = await start(harness, text, named(harness, "b (1).txt"), named(harness, "gone.txt"))
        ended: Any = await harness.ended(session)
        first = contents(harness)
        harness.file("src/a.py", "changed\n")
        await harness.client.prompt(session, "And @src/a.py?")
        await harness.ended(session, 2)
        second, calls = contents(harness), await harness.calls(session)
        steps = [event.step for event in await harness.events(session) if event.type == "prompt.taken"]
        verified = await harness.client.records.verify(session)

    assert ended.reason == "done" and verified.problem is None and steps == [1, 1]
    assert [call.arguments.get("filePath") for call in calls] == [
        *(str(harness.project / name) for name in ("b (1).txt", "gone.txt")),
        *("src/a.py", "src/", "src/a.py"),
    ]
    assert [call.state for call in calls] == [CallState.DONE, CallState.FAILED, *[CallState.DONE] * 3]
    assert [role for role, _ in first] == ["system", "user", "assistant", *["tool"] * 4, "user"]
    assert first[1][1].endswith(text) and "1: of b" in first[3][1] and "File not found" in first[4][1]
    assert LAST in first[-1][1] and LAST not in str(first[:-1])
    assert "10: line 10\n11: line 11\n12: line 12\n" in first[5][1] and "line 13" not in first[5][1]
    assert "<type>directory</type>" in first[6][1]
    assert second[: len(first)] == first and "1: changed" in second[-2][1]


async def test_rules_decide_as_of_any_read(open_harness: Open) -> None:
    async with open_harness(UNASKED, DONE) as harness, harness.running_worker():
        harness.configure(permission={"read": {"*": "allow", "secret/*": "deny"}})
        harness.file("secret/key.txt", "hidden\n")
        harness.file(".env", "TOKEN=1\n")
        outside = harness.project.parent / "outside.txt"
        outside.write_text("of another\n")
        session = await start(harness, f"See @secret/key.txt, @.env and @{outside}.")
        asks = await harness.wait_for_asks(session, 2)
        before = [call.state for call in await harness.calls(session)]
        for ask in asks:
            await harness.answer(ask, Reply.ONCE)
        await harness.ended(session)
        sent, after = contents(harness), [call.state for call in await harness.calls(session)]

    assert before[1:] == [CallState.PREPARED] * 2
    assert after == [CallState.REFUSED, CallState.DONE, CallState.DONE]
    assert "hidden" not in str(sent) and "TOKEN=1" in sent[4][1] and "of another" in sent[5][1]


async def test_a_large_picture_that_a_prompt_holds_goes_as_a_smaller_copy(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        harness.configure_person(model={"attachment": True})
        pictures = [FilePart(mime="image/png", url=picture(side, 10), filename="shot.png") for side in (2000, 3000)]
        session = await start(harness, "Look.", *pictures)
        await harness.ended(session)
        exported = json.loads((await shell(harness).run("export", session)).out)

    assert harness.model.last_request is not None
    text, same, copy = harness.model.last_request.body["messages"][-1]["content"]
    assert text["text"].endswith("Look.\n\n[The picture has 3000×10 pixels; a smaller copy of 2000×7 is attached.]")
    assert same["image_url"]["url"] == pictures[0].url
    assert copy["image_url"]["url"].startswith("data:image/jpeg;base64,")
    assert exported["messages"][0]["parts"][-1]["mime"] == "image/jpeg"


def picture(width: int, height: int) -> str:
    file = BytesIO()
    Image.new("RGB", (width, height)).save(file, "PNG")
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"


async def test_a_steered_prompt_has_its_files_read_at_its_step(open_harness: Open) -> None:
    async with open_harness(LOOK, UNASKED, DONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        harness.file("a.txt", "of a\n")
        session = await start(harness, "Begin.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.client.prompt(session, "Look at @a.txt, too.")
        await harness.answer(ask)
        await harness.ended(session)
        sent = contents(harness)

    assert [role for role, _ in sent] == ["system", "user", "assistant", "tool", "user", "assistant", "tool"]
    assert "Look at @a.txt" in sent[4][1] and "1: of a" in sent[6][1]


async def test_a_mentioned_subagent_is_given_work_without_a_question_and_no_other(open_harness: Open) -> None:
    both = ScriptedAnswer(tools=(*delegates("one").tools, *delegates("two", agent="general").tools))
    scripts = delegation_scripts(both, DONE, delegates("one"), DONE, one=(FOUND,), two=(FOUND,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure(permission={"task": "ask"})
        session = await start(harness, "Let @explore look, and @build or @nobody.")
        (ask,) = await harness.wait_for_asks(session)
        first = contents(harness)
        await harness.answer(ask)
        await harness.ended(session)
        harness.file(".opencode/commands/more.md", "Have @explore look once more.")  # a newer prompt, of the project
        await harness.client.prompt(session, await harness.client.commands.of_session(session, "more"))
        (again,) = await harness.wait_for_asks(session, 2)
        await harness.answer(again)
        await harness.ended(session, 2)
        claims = [event for event in await harness.events(session) if event.type == "call.claimed"]
        verified, sent = await harness.client.records.verify(session), contents(harness)

    assert {decision.by for claim in claims[:1] for decision in claim.decisions} == {"prompt"}
    assert sorted(decision.by for claim in claims for decision in claim.decisions) == ["answer", "answer", "prompt"]
    assert verified.problem is None
    assert "names explore here" in sent[1][1] and "build" in sent[1][1] and first[1] == sent[1]


async def test_a_rule_that_denies_a_mentioned_subagent_holds(open_harness: Open) -> None:
    scripts = delegation_scripts(delegates("one"), DONE, one=(FOUND,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure(permission={"task": {"explore": "deny"}})
        session = await start(harness, "Let @explore look.")
        await harness.ended(session)
        (call,), sent = await harness.calls(session), contents(harness)

    assert call.state is CallState.REFUSED and "names explore" not in sent[1][1]
