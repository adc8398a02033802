"""A summary of what a session has changed: asked for by a person alone, beside its turns."""

import json
from typing import Final

import pytest

from tests.histories.history_scenarios import WRITE
from tests.worker.cli.conftest import OpenHarness, shell
from worker.scripted.script import Refuse, Script, ScriptedAnswer, ScriptedUsage
from workflows.domain.errors import Conflict
from workflows.domain.generation import Purpose
from workflows.domain.sent_request import RequestChoice

DONE: Final = ScriptedAnswer(text="Done.", usage=ScriptedUsage(input=100, output=10))
SAID: Final = ScriptedAnswer(
    text="<think>What was it?</think>\n\nI added a.txt, which says hello.", usage=ScriptedUsage(input=20, output=5)
)


async def test_a_person_has_the_changes_summed_up_and_everything_shows_it(open_harness: OpenHarness) -> None:
    scripts = {"default": Script(answers=(WRITE, DONE, DONE), auxiliary_answer=SAID)}
    async with open_harness(scripts=scripts) as harness:
        harness.configure_person(model={}, small_model="scripted/small")
        session, person = await harness.start_session("Say hello."), shell(harness)
        early = await person.run("summary", session)
        async with harness.running_worker():
            await harness.ended(session)
            asked = await person.run("summary", session)
            sent = await harness.client.records.sent(session, RequestChoice(purpose=Purpose.SUMMARY))
            await harness.client.prompt(session, "Thanks.")
            await harness.ended(session, 2)
        shown, told = await person.run("sessions", "show", session), await person.run("log", session, "--events")
        as_json = json.loads((await person.run("sessions", "show", session, "--json")).out)
        exported = json.loads((await person.run("export", session)).out)["messages"]
        totals, verified = await harness.client.sessions.totals(session), await harness.client.records.verify(session)
        entries = len(harness.model.ledger.entries)
        await harness.client.end(session)
        with pytest.raises(Conflict, match="has ended: no model is asked any more.$"):
            await harness.client.asides.ask(session, Purpose.SUMMARY)

    text = "I added a.txt, which says hello."
    assert early.code == 6 and "has not begun: nothing was changed yet" in early.err
    assert (asked.code, asked.out) == (0, f"{text}\n") and entries == 4
    request = str(sent.conversation[-1].messages[0]["content"])
    assert sent.as_sent and sent.model == "scripted/small" and "[User]: Say hello." in request
    assert "[Assistant tool call]: write(" in request and request.endswith("[Assistant]: Done.\n</conversation>")
    assert f"Changes, up to turn 1: {text}" in shown.out and as_json["change_summary"]["text"] == text
    assert "aside.requested" in told.out and verified.problem is None
    assert [each["info"].get("summary") for each in exported if each["info"]["role"] == "user"] == [
        {"body": text, "diffs": []},
        None,
    ]
    assert (totals.steps, totals.tokens.output) == (3, 35)


async def test_what_a_provider_refuses_is_given_up_with_its_words_and_nothing_else_fails(
    open_harness: OpenHarness,
) -> None:
    refused = Refuse(status=400, body={"error": {"message": "Not that."}})
    failing = SAID.model_copy(update={"faults": dict.fromkeys(range(1, 9), refused)})
    scripts = {"default": Script(answers=(DONE, DONE), auxiliary_answer=failing)}
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        session = await harness.start_session("Say hello.")
        await harness.ended(session)
        asked = [await shell(harness).run(command, session) for command in ("summary", "title")]
        await harness.client.prompt(session, "Again.")
        ended = await harness.ended(session, 2)
        found, verified = (
            await harness.client.records.change_summary(session),
            await harness.client.records.verify(session),
        )
        left = await harness.database.rows(b"SELECT FROM aside_request WHERE purpose = 'title'")
    assert all(each.code == 1 and "scripted/model: refused the request (400)" in each.err for each in asked)
    assert found is None and ended.model_dump()["reason"] == "done" and verified.problem is None and left == []
