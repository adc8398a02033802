"""Exports of OpenCode's and ours become sessions, what has no place is kept, and nothing hostile is half imported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from activities.store import events
from tests.worker.cli.conftest import OpenHarness, shell
from tests.worker.cli.conftest import open_harness as open_harness
from tests.worker.cli.conftest import pooler_url as pooler_url
from tests.worker.cli.conftest import port as port
from tests.worker.cli.conftest import with_sweeper as with_sweeper
from worker.opencode.import_file import read_import
from worker.opencode.import_session import SessionImport
from worker.scripted.script import ScriptedAnswer
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.copied_messages import CopiedAnswer
from workflows.domain.errors import UsageError
from workflows.domain.ids import SessionId
from workflows.domain.permissions.rulesets import Rulesets

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
SESSION = "ses_" + "f" * 12 + "A" * 14
TOKENS = {"total": 30, "input": 10, "output": 5, "reasoning": 5, "cache": {"read": 8, "write": 2}}
CALLS: list[dict[str, Any]] = [
    {"status": "completed", "input": {"command": "ls"}, "output": "a.txt", "title": "ls", "metadata": {"exit": 0},
     "time": {"start": 1_700_000_000_000, "end": 1_700_000_000_500, "compacted": 1_700_000_000_900}},
    {"status": "error", "input": {}, "error": "no such file", "time": {"start": 1, "end": 2}},
    {"status": "running", "input": {"command": "sleep 9"}, "time": {"start": 3}},
    {"status": "pending", "input": {}, "raw": "{"},
]  # fmt: skip
USER_PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "What is here? \x00 \ud800"},
    {"type": "text", "text": "left out", "ignored": True},
    {
        "type": "file",
        "mime": "image/png",
        "url": f"data:image/png;base64,{PICTURE}",
        "source": {"type": "file", "path": "a"},
    },
    {"type": "agent", "name": "explore", "source": {"value": "@explore", "start": 0, "end": 8}},
    {"type": "subtask", "prompt": "p", "description": "d", "agent": "general"},
    {"type": "compaction", "auto": True, "tail_start_id": "msg_000000000001AAAAAAAAAAAAAA"},
]
ANSWER_PARTS: list[dict[str, Any]] = [
    {"type": "step-start", "snapshot": "abc"},
    {"type": "reasoning", "text": "hm", "time": {"start": 1, "end": 2}, "metadata": {"signature": "s"}},
    {"type": "text", "text": "A file.", "time": {"start": 1, "end": 2}},
    *(
        {"type": "tool", "callID": f"c{number}", "tool": "mcp.bash", "state": state}
        for number, state in enumerate(CALLS)
    ),
    {"type": "patch", "hash": "h", "files": ["a.txt"]},
    {"type": "snapshot", "snapshot": "def"},
    {"type": "retry", "attempt": 1, "error": {"name": "APIError", "data": {}}, "time": {"created": 1}},
    {"type": "step-finish", "reason": "stop", "cost": 0.25, "tokens": TOKENS},
    {"type": "of-tomorrow", "deep": [{"er": None}]},
]


def message(number: int, role: str, parts: list[dict[str, Any]], **info: Any) -> dict[str, Any]:
    id = f"msg_{number:012x}AAAAAAAAAAAAAA"
    named = {"id": id, "sessionID": SESSION, "role": role, "time": {"created": 1_700_000_000_000 + number}}
    ids = (
        {"id": f"prt_{number:06x}{place:06x}AAAAAAAAAAAAAA", "sessionID": SESSION, "messageID": id}
        for place in range(99)
    )
    return {"info": named | info, "parts": [own | part for own, part in zip(ids, parts, strict=False)]}


def document(directory: str = "/p") -> dict[str, Any]:
    answer = {"parentID": "msg_000000000001AAAAAAAAAAAAAA", "agent": "build", "mode": "build", "providerID": "p",
              "modelID": "m", "cost": 0.25, "tokens": TOKENS, "path": {"cwd": "/", "root": "/"}}  # fmt: skip
    times = {"created": 1_700_000_000_000, "updated": 1_700_000_000_002, "compacting": 5}
    info = {"id": SESSION, "slug": "quick-fox", "projectID": "global", "directory": directory, "title": "From there",
            "version": "1.2.3", "cost": 0.25, "time": times, "share": {"url": "https://x"}}  # fmt: skip
    prompt = {"agent": "build", "model": {"providerID": "p", "modelID": "m", "variant": "high"}, "system": "Be brief."}
    messages = [
        message(1, "user", USER_PARTS, **prompt),
        message(2, "assistant", ANSWER_PARTS, **answer, finish="stop"),
        message(3, "user", [{"type": "compaction", "auto": False}], **prompt),
        message(4, "assistant", [{"type": "text", "text": "In short: a file."}], **answer, summary=True),
        message(5, "assistant", [], **answer, error={"name": "MessageAbortedError", "data": {"message": "m"}}),
    ]
    whole: dict[str, Any] = json.loads(json.dumps({"info": info, "messages": messages}))
    return whole


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


Change = Callable[[dict[str, Any]], Any]


def setting(*path: Any) -> Change:
    """Sets the last of a path behind all but the last two."""
    *inner, name, value = path

    def change(whole: dict[str, Any]) -> None:
        target: Any = whole
        for each in inner:
            target = target[each]
        target[name] = value

    return change


def nested() -> Any:
    value: Any = 1
    for _ in range(200):
        value = [value]
    return value


BARE = {"directory": "/p", "worktree": None, "config": Config(), "rules": Rulesets()}
FIRST = ("messages", 0, "info")
HOSTILE: dict[str, Change] = {
    "`info` and a list": setting("messages", {}),
    r"info.title: Input should be a valid string": setting("info", "title", 7),
    r"messages\[0\].info.role": setting(*FIRST, "role", "system"),
    r"messages\[1\].parts\[2\].text": setting("messages", 1, "parts", 2, "text", ["x"]),
    r"messages\[1\].parts\[3\].state.status": setting("messages", 1, "parts", 3, "state", "status", "odd"),
    r"info.time.created: Input should be less": setting(*FIRST, "time", {"created": 1e15}),
    "stands twice": setting("messages", 1, "parts", 0, "id", "prt_000001000000AAAAAAAAAAAAAA"),
    "answers 'msg_000000000002": setting("messages", 1, "info", "parentID", "msg_000000000002AAAAAAAAAAAAAA"),
    "answers 'msg_000000000005": setting("messages", 1, "info", "parentID", "msg_000000000005AAAAAAAAAAAAAA"),
    "belongs to the session 'ses_x'": setting(*FIRST, "sessionID", "ses_x"),
    "belongs to the message 'msg_x'": setting("messages", 0, "parts", 0, "messageID", "msg_x"),
    r"messages\[1\].info.cost": setting("messages", 1, "info", "cost", [1]),
    "000… is too large": setting("info", "cost", 10**400),
    r"info.id: String should have at most": setting("info", "id", "ses_" * 1000),
    "nested too deeply": setting("info", "metadata", nested()),
}


@pytest.mark.parametrize("why", HOSTILE)
def test_a_hostile_file_is_refused_with_the_place_where_it_is_wrong(tmp_path: Path, why: str) -> None:
    whole = document()
    HOSTILE[why](whole)
    with pytest.raises(UsageError, match=why):
        read_import(write(tmp_path / "a.json", whole))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"info": NaN}', '{"info": 1e999}', "\udcff"])
def test_what_is_no_export_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=r"no export that can be imported.*Nothing was imported"):
        read_import(path)


@pytest.mark.parametrize(("tail", "stands_for"), [(None, 3), ("msg_000000000006AAAAAAAAAAAAAA", 2), ("msg_unknown", 3)])
def test_a_summary_stands_for_what_is_before_its_tail(tmp_path: Path, tail: str | None, stands_for: int) -> None:
    """Of three answers, the last of which begins the tail."""
    whole = document()
    text = {"type": "text", "text": "Yes."}
    answers = [message(number, "assistant", [text], providerID="p", modelID="m") for number in (2, 5, 6)]
    asked = {"type": "compaction", "auto": True} | ({} if tail is None else {"tail_start_id": tail})
    request = message(7, "user", [asked])
    summary = message(8, "assistant", [text], parentID=request["info"]["id"], summary=True)
    whole["messages"] = [message(1, "user", [text]), *answers, request, summary]
    made = SessionImport(
        read_import(write(tmp_path / "a.json", whole)), TurnConfig(**BARE), "tester", new_ids=False
    ).make()
    first, last = made.messages[1].seen, made.messages[-1].seen
    assert isinstance(first, CopiedAnswer) and isinstance(last, CopiedAnswer)
    assert last.newest == answers[-1]["info"]["id"]
    assert (last.turn, last.step) == (first.turn, stands_for)


@pytest.mark.parametrize(("ended", "state"), [("ses_1", "done"), ("ses_2", "cancelled")])
def test_a_background_task_without_a_result_in_the_file_is_not_said_to_run(
    tmp_path: Path, ended: str, state: str
) -> None:
    whole = document()
    output = '<task id="ses_1" state="running">\n<summary>Works.</summary>\n</task>'
    begun = {"status": "completed", "input": {}, "output": output, "metadata": {"background": True}}
    call = {"type": "tool", "callID": "c", "tool": "task", "state": begun}
    result = {"type": "text", "text": f'<task id="{ended}" state="completed">Found.</task>', "synthetic": True}
    whole["messages"] = [message(1, "assistant", [call]), message(2, "user", [result])]
    made = SessionImport(
        read_import(write(tmp_path / "a.json", whole)), TurnConfig(**BARE), "tester", new_ids=False
    ).make()
    seen = made.messages[0].seen
    assert isinstance(seen, CopiedAnswer) and seen.calls[0].state == state
    assert ("running" in seen.calls[0].outcome.output) == (state == "done")


def test_a_title_may_end_in_half_a_character_and_the_file_begin_with_a_mark(tmp_path: Path) -> None:
    whole = document()
    whole["info"]["title"] = "a\ud83d"
    file = write(tmp_path / "a.json", whole)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    made = SessionImport(read_import(file), TurnConfig(**BARE), "tester", new_ids=False).make()
    assert made.title == "a" and made.info["title"] == "a\ud83d"


async def test_an_import_has_the_conversation_keeps_the_rest_and_goes_on(open_harness: OpenHarness) -> None:
    async with open_harness(*[ScriptedAnswer(text="I see a file.")] * 4) as harness, harness.running_worker():
        person = shell(harness)
        whole = document(str(harness.project.resolve()))
        file = write(harness.project / "session.json", whole)
        first = await person.run("import", str(file), "--json")
        assert first.code == 0, first.err
        imported = json.loads(first.out)
        again = json.loads((await person.run("export", SESSION)).out)
        copy = json.loads((await person.run("import", str(file), "--json")).out)
        refused = await person.run("import", str(write(harness.project / "bad.json", {**whole, "messages": 1})))
        listed, log = await harness.client.sessions.list_recent(), await person.run("log", SESSION, "--json")

        await person.run("send", SESSION, "And now?", "-m", "scripted/model")
        await harness.ended(SessionId(SESSION))
        later = json.loads((await person.run("export", SESSION)).out)
        verified = await events.verify(harness.database, SessionId(SESSION))
        totals = await harness.client.sessions.totals(SessionId(SESSION))
        sent = json.dumps(harness.model.last_request.body["messages"]) if harness.model.last_request else ""
        (of_copy, *_) = json.loads((await person.run("export", copy["session"])).out)["messages"]
        erased = await person.run("delete", copy["session"], "--message", of_copy["info"]["id"])
        without = await person.run("log", copy["session"], "--json")
        still = await events.verify(harness.database, SessionId(copy["session"]))
        deleted = await person.run("delete", copy["session"])
        archive = (await person.run("archive", SESSION)).out.strip()
        checked, restored = await person.run("log", archive, "--verify"), await person.run("restore", archive)
        back = json.loads((await person.run("export", SESSION)).out)

    assert (imported["session"], imported["same_ids"], imported["messages"]) == (SESSION, True, 5)
    prompt, answer, _, summary = again["messages"]
    assert prompt["info"] == whole["messages"][0]["info"]
    assert kinds(prompt) == ["text", "file"]
    assert kinds(answer) == ["step-start", "reasoning", "text", *["tool"] * 4, "step-finish"]
    for name in ("id", "parentID", "modelID", "providerID", "agent", "cost", "tokens", "finish"):
        assert answer["info"][name] == whole["messages"][1]["info"][name], name
    states = [part["state"] for part in answer["parts"] if part["type"] == "tool"]
    assert [state["status"] for state in states] == ["completed", "error", "error", "error"]
    assert (states[0]["input"], states[0]["output"]) == ({"command": "ls"}, "a.txt")
    assert (states[0]["time"]["start"], states[0]["time"]["end"]) == (1_700_000_000_000, 1_700_000_000_500)
    assert summary["info"]["summary"] is True and summary["parts"][1]["text"] == "In short: a file."
    assert copy["session"] != SESSION and not copy["same_ids"]
    assert erased.code == 0 and "left out" not in without.out and "of-tomorrow" in without.out and still.problem is None
    kept = ("left out", "subtask", "of-tomorrow", "MessageAbortedError", "https://x")
    assert [text for text in kept if text not in log.out] == []
    assert refused.code == 2 and "Nothing was imported" in refused.err and len(listed) == 2
    assert later["messages"][:4] == again["messages"] and later["messages"][-1]["parts"][1]["text"] == "I see a file."
    assert "In short: a file." in sent and "A file." not in sent.replace("In short: a file.", "")
    assert verified.problem is None and totals.steps == 1 and deleted.code == 0
    assert (checked.code, restored.code) == (0, 0) and back == later


def kinds(message: dict[str, Any]) -> list[str]:
    return [part["type"] for part in message["parts"]]


def in_order(whole: Any) -> Any:
    """With ids by the order in which they come, and without what only the asker of a summary knew."""
    known: dict[str, str] = {}

    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if isinstance(value, dict):
            return {name: renamed(each) for name, each in value.items() if name not in ("auto", "created")}
        if isinstance(value, str) and value[:4] in ("ses_", "msg_", "prt_"):
            return known.setdefault(value, f"{value[:4]}{len(known)}")
        return value

    return renamed(whole)
