"""`holdfast compact` as a process."""

import json
from typing import Any

from tests.worker.cli.conftest import OpenHarness, shell
from tests.worker.opencode.test_import import in_order
from tests.workflows.test_compaction import TASK, WORDS, script
from worker.scripted.script import ScriptedAnswer

ASKED = ("1.1", "compaction")
HELLO = ScriptedAnswer(text="Hello to you.")


async def test_a_conversation_is_compacted_and_the_log_says_so(open_harness: OpenHarness) -> None:
    async with open_harness(scripts=script(HELLO, HELLO)) as harness, harness.running_worker():
        person = shell(harness)
        nothing = await person.run("compact")
        await person.run("run", "-m", "scripted/model", TASK)
        compacted = await person.run("compact", "-m", "the greeting")
        page = await person.run("log", "last")
        summary = await person.run("sessions", "show", "last", "--summary")
        again = await person.run("compact", "--json")
        sent = [
            json.loads((await person.run("sessions", "show", "last", "--prompt", which, "--json")).out)
            for which in ASKED
        ]
        shown = await person.run("sessions", "show", "last", "--prompt", "compaction")
        nowhere = await person.run("sessions", "show", "last", "--prompt", "4.2")
        unclear = await person.run("sessions", "show", "last", "--prompt", "last step")
        verified = await person.run("log", "last", "--verify")
        exported = (await person.run("export", "last")).out
        file = harness.file("session.json", exported)
        copy = json.loads((await person.run("import", str(file), "--json")).out)
        again_exported = (await person.run("export", copy["session"])).out
        await person.run("send", copy["session"], "And now?", "-m", "scripted/model")
        await harness.ended(copy["session"])

    assert nothing.code != 0 and compacted.code == 0 and verified.code == 0
    assert "compacting its context" in compacted.err and "Compacted: " in compacted.out
    assert "compacted: " in page.out and summary.out == f"{WORDS}\n"
    assert [each["as_sent"] for each in sent] == [True] * 2
    assert "As it was sent (digest " in shown.out and "the greeting" in shown.out and "│ " in shown.out
    assert "no step 2 of turn 4" in nowhere.err and unclear.code == 2 and "a turn and a step (2.4)" in unclear.err
    assert_compaction_is_opencodes(json.loads(exported)["messages"])
    assert in_order(json.loads(again_exported)["messages"]) == in_order(json.loads(exported)["messages"])
    lines = [json.loads(line)["type"] for line in again.out.splitlines()]
    assert again.code == 1 and lines == ["turn_start", "compaction_failed", "turn_end"]


def assert_compaction_is_opencodes(messages: list[Any]) -> None:
    """A person's prompt and its answer, then the request for a summary, and the summary."""
    roles = [(each["info"]["role"], [part["type"] for part in each["parts"]]) for each in messages]
    answer = ("assistant", ["step-start", "text", "step-finish"])
    assert roles == [("user", ["text"]), answer, ("user", ["compaction"]), answer]
    (_, _, asked, summary), ids = messages, [each["info"]["id"] for each in messages]
    assert asked["parts"][0]["auto"] is False and "tail_start_id" not in asked["parts"][0]
    assert summary["info"]["summary"] is True and summary["info"]["agent"] == summary["info"]["mode"] == "compaction"
    assert summary["info"]["parentID"] == asked["info"]["id"] and summary["parts"][1]["text"] == WORDS
    assert ids == sorted(ids)
