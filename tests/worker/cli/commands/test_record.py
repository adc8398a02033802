"""`holdfast log` and `export` as processes."""

import json
import os
import re
from collections import deque
from pathlib import Path
from typing import Any

import click
import psycopg

from tests.harness import wait_for_file
from tests.worker.cli.conftest import OpenHarness, shell
from tests.workflows.delegation import FOUND, LOOK, children, delegates, delegation_scripts
from worker.scripted.script import Hold, Refuse, ScriptedAnswer, ScriptedCall, ScriptedUsage, StreamError
from workflows.domain.messages import TextPart
from workflows.domain.output_format import OutputFormat
from workflows.domain.prompt import Prompt

READ = ScriptedAnswer(
    text="Let me look.",
    reasoning="A file, then.",
    tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),),
    usage=ScriptedUsage(input=100, output=20, reasoning=5, cached=40),
)
BROKEN = ScriptedAnswer(text="", tools=(ScriptedCall(name="read", arguments={"filePath": "missing.txt"}),))
DONE = ScriptedAnswer(text="It says hello.")


async def test_the_log_is_shown_and_its_chain_is_verified(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        summary, shown, verified = [
            await shell(harness).run("log", session, *more) for more in ((), ("--events",), ("--verify",))
        ]
        count = len(await harness.events(session))
        async with shell(harness).terminal("log", session, "--events") as terminal:
            narrow = await terminal.until(
                r"(?s)created\S*\r\n {7}directory=.*turn\.ended\S*\s+turn=\w+ reason=done\r\n"
            )
            await terminal.ended()

    assert all(len(row.rstrip()) <= 80 for row in click.unstyle(narrow[0]).splitlines())
    assert summary.code == 0 and "  > hello (tester@here)" in summary.out and summary.out.endswith("Now: done\n")
    assert shown.code == 0 and len(shown.out.splitlines()) == count
    assert "    1  " in shown.out and "session.created" in shown.out and "tester@here" in shown.out
    assert verified.code == 0 and f"{count} events, the chain is whole, its head is" in verified.out


async def test_a_changed_row_is_named_and_ends_with_1(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        with psycopg.connect(harness.endpoints.postgres_url) as connection:
            connection.execute('UPDATE holdfast.prompt SET body = \'{"text": "other"}\'')
        verified = await shell(harness).run("log", session, "--verify")

    assert verified.code == 1 and "event 2 (prompt.accepted)" in verified.out


async def test_the_log_as_json_has_records_with_their_contents(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        shown = await shell(harness).run("log", session, "--json", "--after", "1")

    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(2, len(lines) + 2))
    prompt = lines[0]["event"]["prompt"]
    assert lines[0]["contents"][prompt] == {"parts": [{"type": "text", "text": "hello"}]}
    assert lines[0]["contents"].keys() == {prompt, f"{prompt}/work"}


async def test_an_export_has_opencodes_shapes(open_harness: OpenHarness) -> None:
    busy = {times: Refuse(status=503, headers={"retry-after-ms": "1"}) for times in (1, 2)}
    answers = READ, BROKEN, DONE.model_copy(update={"faults": busy})
    async with open_harness(*answers) as harness, harness.running_worker():
        harness.file("a.txt", "hello\n")
        session = await harness.start_session("look")
        await harness.ended(session)
        ended = await shell(harness).run("export", "last")

    document = json.loads(ended.out)
    user, first, second, last = document["messages"]
    assert (document["info"]["id"], document["info"]["directory"]) == (session, str(harness.project))
    assert document["info"]["model"] == {"id": "model", "providerID": "scripted"}
    assert re.fullmatch("[a-z]+-[a-z]+", document["info"]["slug"]) and document["info"]["path"] == ""
    assert user["info"]["role"] == "user" and user["parts"][0]["text"] == "look"
    assert first["info"]["parentID"] == user["info"]["id"] and first["info"]["finish"] == "tool-calls"
    assert first["info"]["tokens"] == {
        "total": 120,
        "input": 60,
        "output": 15,
        "reasoning": 5,
        "cache": {"read": 40, "write": 0},
    }
    assert [part["type"] for part in first["parts"]] == ["step-start", "reasoning", "text", "tool", "step-finish"]
    assert first["parts"][-1]["reason"] == "tool-calls" and first["parts"][-1]["tokens"] == first["info"]["tokens"]
    called = first["parts"][3]["state"]
    assert called["status"] == "completed" and called["time"]["end"] >= called["time"]["start"]
    begun, ended = first["info"]["time"]["created"], first["info"]["time"]["completed"]
    assert begun < called["time"]["start"] <= called["time"]["end"] <= ended <= second["info"]["time"]["created"]
    _, *retries, said, _ = last["parts"]
    assert second["parts"][1]["state"]["status"] == "error" and said["text"] == "It says hello."
    assert [(each["type"], each["attempt"]) for each in retries] == [("retry", 1), ("retry", 2)]
    assert (retries[0]["error"]["name"], retries[0]["error"]["data"]["statusCode"]) == ("APIError", 503)
    assert retries[0]["time"]["created"] <= retries[1]["time"]["created"] <= said["time"]["start"]
    assert "parentID" not in document["info"] and not any("error" in each["info"] for each in document["messages"])
    ids = [part["id"] for message in document["messages"] for part in message["parts"]]
    assert ids == sorted(set(ids))


async def test_what_a_session_has_changed_is_summed_up_by_file_and_line(open_harness: OpenHarness) -> None:
    written = [{"filePath": "a.txt", "content": text} for text in ("one\ntwo\n", "one\n2\nthree\n")]
    writes = [ScriptedAnswer(tools=(ScriptedCall(name="write", arguments=each),)) for each in written]
    async with open_harness(*writes, DONE) as harness, harness.running_worker():
        session = await harness.start_session("write")
        await harness.ended(session)
        person = shell(harness)
        shown, as_json = (
            await person.run("sessions", "show", session),
            await person.run("sessions", "show", session, "--json"),
        )
        log, exported = await person.run("log", session), await person.run("export", session)

    assert "  changed 1 file (+4 −1)\n" in shown.out and "  changed 1 file (+4 −1)\n" in log.out
    assert json.loads(as_json.out)["changes"] == {"files": 1, "additions": 4, "deletions": 1}
    assert json.loads(exported.out)["info"]["summary"] == {"files": 1, "additions": 4, "deletions": 1}


async def test_an_export_says_how_a_turn_failed_or_was_stopped(open_harness: OpenHarness, tmp_path: Path) -> None:
    refused = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
    faults = {1: refused, 2: Hold(path=str(tmp_path / "gate"))}
    answers = DONE.model_copy(update={"faults": faults}), ScriptedAnswer(text="No.", finish="content_filter")
    async with open_harness(*answers) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        await harness.client.prompt(session, "two")
        await wait_for_file(tmp_path / "gate")
        await harness.client.stop(session)
        await harness.ended(session, 2)
        for turn in (3, 4):
            await harness.client.prompt(session, "again")
            await harness.ended(session, turn)
        exported = [json.loads((await shell(harness).run("export", session)).out) for _ in range(2)]

        refusal = exported[0]["messages"][1]["info"]["id"]  # a turn that came to no answer
        fork = await harness.client.copies.fork_session(session, before=refusal)
        await harness.client.prompt(fork.session, "again")
        await harness.ended(fork.session)

    assert fork.messages == 1
    one, failed, two, stopped, *_, filtered = exported[0]["messages"]
    assert exported[0] == exported[1]
    error = failed["info"]["error"]
    assert error["name"] == "APIError" and "Incorrect API" in error["data"]["message"]
    assert (error["data"]["statusCode"], error["data"]["isRetryable"]) == (401, False)
    assert json.loads(error["data"]["responseBody"]) == refused.body
    assert stopped["info"]["error"] == {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    assert filtered["info"]["error"]["name"] == "ContentFilterError" and filtered["parts"][1]["text"] == "No."
    assert [each["info"]["parentID"] for each in (failed, stopped)] == [one["info"]["id"], two["info"]["id"]]
    assert one["info"]["id"] < failed["info"]["id"] < two["info"]["id"] < stopped["info"]["id"]
    assert failed["info"]["time"]["completed"] >= failed["info"]["time"]["created"] and failed["parts"] == []


async def test_an_export_says_that_a_key_is_missing(open_harness: OpenHarness) -> None:
    async with open_harness() as harness, harness.running_worker():
        prompt = Prompt.of_text("one", model="openai/gpt-5")
        session = (await harness.client.start(str(harness.project), prompt)).session
        await harness.ended(session)
        exported = json.loads((await shell(harness).run("export", session)).out)

    error = exported["messages"][-1]["info"]["error"]
    assert error["name"] == "ProviderAuthError" and error["data"].pop("providerID") == "openai"
    assert error["data"].keys() == {"message"} and "There is no key for 'openai'" in error["data"]["message"]


async def test_an_answer_that_breaks_off_keeps_its_text_and_has_the_error(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    """Half a call is none; what a provider has refused for good is told from what a person has stopped."""
    used_up = StreamError(after=2, error={"code": "insufficient_quota", "message": "You have no quota left."})
    cut = ScriptedAnswer(text="0123456789abcdef and more", tools=READ.tools, faults={1: used_up})
    held = cut.model_copy(update={"faults": {1: Hold(after=3, path=str(tmp_path / "gate"))}})
    async with open_harness(cut, held) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        await harness.client.prompt(session, "two")
        await wait_for_file(tmp_path / "gate")
        await harness.client.stop(session)
        await harness.ended(session, 2)
        exported = json.loads((await shell(harness).run("export", session)).out)
        verified = await shell(harness).run("log", session, "--verify")

    _, failed, _, stopped = exported["messages"]
    assert [part["type"] for part in failed["parts"] + stopped["parts"]] == ["step-start", "text"] * 2
    assert [each["parts"][1]["text"] for each in (failed, stopped)] == ["0123456789abcdef", "0123456789abcdef and more"]
    assert [each["info"]["error"]["name"] for each in (failed, stopped)] == ["APIError", "MessageAbortedError"]
    assert failed["info"]["error"]["data"]["isRetryable"] is False
    assert not any("finish" in each["info"] for each in (failed, stopped)) and verified.code == 0


async def test_an_export_names_a_context_that_is_too_long_and_a_missing_result(open_harness: OpenHarness) -> None:
    too_long = {"error": {"message": "This model's maximum context length is 100 tokens."}}
    answers = DONE.model_copy(update={"faults": {1: Refuse(status=400, body=too_long)}}), DONE
    async with open_harness(*answers) as harness, harness.running_worker():
        harness.configure_person(model={}, compaction={"auto": False})
        session = await harness.start_session("one")
        await harness.ended(session)
        form = OutputFormat(json_schema={"type": "object", "required": ["a"]}, corrections=0)
        await harness.client.prompt(session, Prompt(parts=(TextPart(text="two"),), format=form))
        await harness.ended(session, 2)
        exported = json.loads((await shell(harness).run("export", session)).out)

    errors = [each["info"]["error"] for each in exported["messages"] if "error" in each["info"]]
    assert [each["name"] for each in errors] == ["ContextOverflowError", "StructuredOutputError"]
    assert json.loads(errors[0]["data"]["responseBody"]) == too_long and errors[1]["data"]["retries"] == 0


async def test_a_stopped_command_is_exported_with_its_output_and_no_exit_code(open_harness: OpenHarness) -> None:
    command = ScriptedCall(name="bash", arguments={"command": "echo said; touch begun; sleep 600"})
    async with open_harness(ScriptedAnswer(tools=(command,))) as harness, harness.running_worker():
        session = await harness.start_session("run it")
        await wait_for_file(harness.project / "begun", suffix="")
        await harness.client.stop(session)
        await harness.ended(session)
        exported = json.loads((await shell(harness).run("export", session)).out)

    _, answer = exported["messages"]
    state = answer["parts"][1]["state"]
    assert (state["status"], state["metadata"]["exit"]) == ("completed", None) and state["output"].startswith("said\n")
    assert answer["info"]["error"]["name"] == "MessageAbortedError"


async def test_an_export_of_a_subagents_session_names_its_parent(open_harness: OpenHarness) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(FOUND,))) as harness,
        harness.running_worker(),
    ):
        harness.model.received = deque()
        session = await harness.start_session("look")
        await harness.ended(session)
        (child,) = await children(harness, session)
        exported = json.loads((await shell(harness).run("export", child)).out)

    assert exported["info"]["parentID"] == session
    assert {"permission": "task", "pattern": "*", "action": "deny"} in exported["info"]["permission"]
    headers = [request.headers for request in harness.model.received]
    named = [(each["x-session-id"], each.get("x-parent-session-id")) for each in headers]
    assert named == [(session, None), (child, session), (session, None)]


async def test_a_sanitized_export_has_the_shape_and_no_contents(open_harness: OpenHarness) -> None:
    secret = READ.model_copy(update={"text": "Private words.", "reasoning": "Private thoughts."})
    refused = Refuse(status=400, body={"error": {"message": "Private refusal"}})
    async with open_harness(secret, DONE.model_copy(update={"faults": {1: refused}})) as harness:
        harness.file("a.txt", "Private line.\n")
        async with harness.running_worker():
            prompt = Prompt(parts=(TextPart(text="Private prompt."),), system="Private rule.", model="scripted/model")
            session = (await harness.client.start(str(harness.project), prompt)).session
            await harness.ended(session)
            whole, sanitized = [await shell(harness).run("export", session, *more) for more in ((), ("--sanitize",))]

    assert "Private" in whole.out and "Private" not in sanitized.out and str(harness.project) not in sanitized.out
    one, other = json.loads(whole.out), json.loads(sanitized.out)
    text = next(part for part in other["messages"][1]["parts"] if part["type"] == "text")
    assert text["text"] == f"[redacted:text:{text['id']}]"
    assert _shape(one) == _shape(other)


def _shape(document: dict[str, Any]) -> list[Any]:
    """Ids, kinds, names and numbers."""
    messages = document["messages"]
    parts = [(part["id"], part["type"], part.get("tool")) for each in messages for part in each["parts"]]
    return [[(each["info"]["id"], each["info"].get("error", {}).get("name")) for each in messages], parts]


async def test_a_reader_that_stops_reading_is_no_failure(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        reader, writer = os.pipe()
        os.close(reader)
        ended = [await shell(harness).run(word, session, out=writer) for word in ("log", "watch")]
        os.close(writer)

    assert [(each.code, each.err) for each in ended] == [(141, "")] * 2


async def test_an_archived_session_is_listed_read_from_its_file_and_brought_back(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        person = shell(harness)
        archived = await person.run("archive", session)
        path = archived.out.strip()
        listed, refused = await person.run("sessions"), await person.run("log", session)
        read, verified = await person.run("log", path), await person.run("log", path, "--verify")
        back, whole = await person.run("restore", path), await person.run("log", session, "--verify")

    assert archived.code == 0 and f"{session}  archived  " in listed.out
    assert refused.code == 6 and f"`holdfast restore {path}` brings it back" in refused.err
    assert "session.created" in read.out and "the chain is whole" in verified.out
    assert back.out == f"The session is back: {session}\n" and (whole.code, whole.out) == (0, verified.out)


async def test_an_archive_is_a_sessions_and_its_subagents_and_is_asked_for_by_the_first(
    open_harness: OpenHarness,
) -> None:
    async with (
        open_harness(scripts=delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))) as harness,
        harness.running_worker(),
    ):
        harness.configure(agent={"explore": {"permission": {"bash": "ask"}}})
        session = await harness.start_session("look")
        (child,) = await children(harness, session)
        (ask,) = await harness.wait_for_asks(child)
        person = shell(harness)
        early = await person.run("archive", session)
        await harness.answer(ask)
        await harness.ended(session)
        alone, logged = await person.run("archive", child), await person.run("log", session, "--verify")
        path = (await person.run("archive", session)).out.strip()
        read, verified = await person.run("log", path), await person.run("log", path, "--verify")
        below, back = await person.run("log", child), await person.run("restore", path)
        listed, whole = await person.run("sessions"), await person.run("log", session, "--verify")

    assert early.code == 6 and f"{child}: it waits for an answer; see `holdfast sessions show {child}`" in early.err
    assert alone.code == 6 and f"`holdfast archive {session}`" in alone.err
    assert [line for line in read.out.splitlines() if line.endswith(":")] == [f"{session}:", f"{child}:"]
    assert (verified.code, verified.out) == (0, logged.out) and len(logged.out.splitlines()) == 2
    assert below.code == 6 and f"`holdfast restore {path}` brings it back" in below.err
    assert back.code == 0 and child in listed.out and whole.out == logged.out
