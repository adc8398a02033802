"""A session on one page."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from tests.worker.cli.render.test_event_renderer import NOON, call
from worker.cli.render.session_summary import SessionSummary, render_session_summary
from workflows.domain.actor import Actor
from workflows.domain.events.asks import AnswerRefused, AskAnswered, AskClosed, AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.generations import ContextCompacted, MessageCompleted, ModelRetry, PartSeal
from workflows.domain.events.grants import GrantMade
from workflows.domain.events.prompts import PromptAccepted, PromptTaken
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskSettled, TaskStarted
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.ids import (
    AskId,
    GenerationId,
    GrantId,
    MessageId,
    NoteId,
    PartId,
    SessionId,
    StopId,
    TurnConfigId,
    TurnId,
)
from workflows.domain.usage import Tokens
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.sessions import Overview

ROOT, CHILD = SessionId("ses_1"), SessionId("ses_2")
GENERATION = GenerationId("gen_1")
TURN, ASK, PROMPT = TurnId("trn_1"), AskId("per_1"), MessageId("msg_1")


class WrittenLog:
    """A log written event by event, some minutes apart."""

    def __init__(self) -> None:
        self.summary = SessionSummary(ROOT)
        self.at = NOON
        self.seq = 0

    def happens(
        self, event: Event, minutes: int = 0, who: str = "worker", of: SessionId = ROOT, **contents: Any
    ) -> None:
        self.at += timedelta(minutes=minutes)
        self.seq += 1
        actor = Actor(subject=who, method="test")
        record = EventRecord(session=of, seq=self.seq, at=self.at.isoformat(), actor=actor, event=event)
        self.summary.on_event(EventWithContents(record=record, contents=contents))

    def opens(self, number: int = 1, prompt: str = "make the tests pass") -> None:
        accepted = PromptAccepted(prompt=PROMPT, mode="steer", seal="")
        self.happens(accepted, who="ada@here", msg_1={"parts": [{"type": "text", "text": prompt}]})
        opened = TurnOpened(turn=TURN, number=number, turn_config=TurnConfigId("cfg_1"), agent="build", model="a/b")
        self.happens(opened)
        self.happens(PromptTaken(prompt=PROMPT, turn=TURN, step=1))

    def answers(self, said: str = "", of: SessionId = ROOT, cost: str | None = "0.01", finish: str = "stop") -> None:
        part = PartSeal(part=PartId("prt_t"), kind="text", seal="")
        tokens = Tokens(input=1000, output=200)
        event = MessageCompleted(
            generation=GENERATION,
            message=MessageId("msg_2"),
            turn=TURN,
            step=1,
            finish=finish,
            tokens=tokens,
            cost=cost,
            parts=(part,),
        )
        self.happens(event, of=of, prt_t={"type": "text", "text": said})

    def calls(self, content: JsonValue, state: str = "done", of: SessionId = ROOT) -> None:
        self.happens(CallFinished(call=PartId("prt_1"), state=state, seal=""), of=of, prt_1=content)

    def runs(self, command: str, exit: int | None = 0, **metadata: JsonValue) -> None:
        self.calls(call("bash", {"command": command}, title=command, metadata={"exit": exit, **metadata}))

    def asks(self, command: str, **contents: Any) -> None:
        raised = AskRaised(ask=ASK, call=PartId("prt_1"), permissions=("bash",), digest="")
        self.happens(raised, prt_1=call("bash", {"command": command}), **contents)

    def ends(self, reason: str = "done") -> None:
        self.happens(TurnEnded(turn=TURN, reason=reason), 1)

    def page(self, columns: int = 100, **changed: Any) -> list[str]:
        seen = Overview.model_validate(STANDING | {"updated_at": self.at} | changed)
        return [str(each) for each in render_session_summary(self.summary, seen, self.at, columns)]


STANDING: dict[str, Any] = {name: None for name in Overview.model_fields} | {
    "deleted_messages": 0,
    "background": 0,
    "held": 0,
    "waits": (),
    "id": ROOT,
    "depth": 0,
    "host_offline": False,
    "directory": "/p",
    "title": "make the tests pass",
    "agent": "build",
    "model": "a/b",
    "status": "active",
    "seq": 9,
    "created_at": NOON,
    "number": 1,
    "turn_state": "ended",
    "reason": "done",
    "asks": 0,
    "waiting": 0,
    "untaken": 0,
}


@pytest.fixture
def log() -> WrittenLog:
    return WrittenLog()


def test_the_summary_shows_what_was_done_on_one_page(log: WrittenLog) -> None:
    log.opens()
    log.calls(call("read", {"filePath": "a.py"}, title="a.py"))
    log.calls(call("read", {"filePath": "b.py"}, title="b.py"))
    change: JsonValue = {"filediff": {"additions": 3, "deletions": 1}}
    log.calls(call("edit", {"filePath": "a.py"}, title="a.py", metadata=change))
    files: JsonValue = [{"relativePath": f"{name}.py", "additions": 1, "deletions": 2} for name in "ad"]
    log.calls(call("apply_patch", {"patchText": "…"}, title="a.py, d.py", metadata={"files": files}))
    log.runs("pytest -q", exit=1)
    log.runs("pytest -q", pipeline="1 | 0")
    log.runs("pytest -q")
    log.runs("cat x >> b.py; rm c.py", changed=["b.py", "c.py"])
    log.runs("sleep 9", exit=None)
    log.calls(call("bash", {"command": "sleep 8"}, title="sleep 8", metadata={"exit": None}), "cancelled")
    log.calls(call("bash", {"command": "rm x"}, title="rm x"), "cancelled")
    for _ in range(2):
        log.calls(call("edit", {"filePath": "b.py"}), "failed")
    log.answers("All tests pass.")
    log.ends()

    at = f"{NOON.astimezone():%a %d %b %H:%M}"
    assert log.page() == [
        "make the tests pass",
        "  ses_1 in /p · build · a/b",
        f"  {at} – {log.at.astimezone():%H:%M} (1 min)",
        "  1 turn · 1 step · 1,200 tokens · $0.0100",
        "  changed 2 files (+5 −5)",
        "",
        f"Turn 1 · {at} · 1 min · done",
        "  > make the tests pass (ada@here)",
        "  did      bash 7, edit 3, read 2, apply_patch",
        "           changed a.py (+4 −3)",
        "           changed d.py (+1 −2)",
        "           changed by commands: b.py, c.py",
        "           ran pytest -q (3 times, 1× exit 1, 1× exit 1 | 0)",
        "           ran sleep 9 (ended early)",
        "           ran sleep 8 (cancelled)",
        "           did not run rm x (cancelled)",
        "           edit b.py (2× failed)",
        "           ran cat x >> b.py; rm c.py",
        "  said     All tests pass.",
        "  used     1 step · 1,200 tokens · $0.0100",
        "",
        "Now: done",
    ]


def test_who_has_answered_what_and_after_how_long(log: WrittenLog) -> None:
    log.opens()
    log.asks("make")
    answered = AskAnswered(ask=ASK, call=PartId("prt_1"), reply="always", digest="")
    log.happens(answered, 192, who="ada@phone")
    made = GrantMade(ask=ASK, grant=GrantId("gra_1"), scope="session", permission="bash", patterns=("make *",))
    log.happens(made, who="ada@phone")

    page = "\n".join(log.page())
    assert " bash make → always by ada@phone after 3 h 12 min" in page
    assert "from then on allowed: bash: make * in this session" in page


@pytest.mark.parametrize(
    ("settled", "late", "troubles"),
    [
        (AskClosed(ask=ASK, call=PartId("prt_1"), reason="the turn ended"), "ada@phone", 0),
        (AskAnswered(ask=ASK, call=PartId("prt_1"), reply="reject", digest=""), "ada@phone", 0),
        (AskAnswered(ask=ASK, call=PartId("prt_1"), reply="reject", digest=""), "bob@desk", 1),
        (None, "ada@phone", 1),
    ],
)
def test_a_late_answer_is_a_trouble_where_somebody_else_has_answered(
    log: WrittenLog, settled: Event | None, late: str, troubles: int
) -> None:
    log.opens()
    log.asks("make")
    if settled is not None:
        log.happens(settled, who="ada@phone")
    log.happens(AnswerRefused(ask=ASK, reply="once", reason="closed before your answer"), who=late)

    assert "\n".join(log.page()).count("an answer by") == troubles


def test_a_rejection_has_its_reason_and_an_open_question_its_name(log: WrittenLog) -> None:
    log.opens()
    log.asks("rm -rf build", per_1={"name": "a7"})
    waiting = "\n".join(log.page())
    rejected = AskAnswered(ask=ASK, call=PartId("prt_1"), reply="reject", digest="", feedback_seal="x")
    request: JsonValue = {"permission": "bash", "patterns": ["rm -rf build"]}
    log.happens(rejected, who="ada@here", per_1={"request": request, "feedback": "use make", "author": "ada@here"})

    assert "bash rm -rf build → no answer yet (a7)" in waiting
    assert "→ rejected by ada@here after 0 s: use make" in "\n".join(log.page())


def test_failures_of_a_provider_are_one_trouble_until_it_answers(log: WrittenLog) -> None:
    log.opens()
    for attempt in range(1, 4):
        failed = ModelRetry(
            generation=GENERATION,
            turn=TURN,
            step=1,
            attempt=attempt,
            kind="429",
            note=NoteId("not_1"),
            seal="",
            next_at="",
        )
        log.happens(failed, 5, not_1="Too many requests")
    log.happens(TaskSettled(call=PartId("prt_9"), child=CHILD, seq=1, head=""), 2)
    log.answers("Here.")

    first, end = (f"{at.astimezone():%H:%M}" for at in (NOON + timedelta(minutes=5), log.at))
    said = f"{first} the provider failed (429, 3 times, answered at {end}): Too many requests"
    assert f"  trouble  {said}" in log.page()


def test_interruptions_unknown_ends_and_stops_are_troubles(log: WrittenLog) -> None:
    log.opens()
    content = call("bash", {"command": "deploy"}, title="deploy")
    claimed = CallClaimed(call=PartId("prt_1"), fence=(1, 1, 1, 1), turn_config=TurnConfigId("cfg_1"), recovered=True)
    log.happens(claimed, prt_1=content)
    log.calls(content, "unknown")
    log.happens(claimed, prt_1=call("task", {"description": "look"}, title="look"))  # its subagent has ended
    log.happens(StopAccepted(stop=StopId("stp_1"), turn=TURN), who="ada@here")
    log.ends("stopped")

    page = "\n".join(log.page())
    assert "bash deploy: resumed after an interruption" in page and "task look" not in page
    assert "bash deploy: it is not known whether it happened" in page
    assert "stopped by ada@here" in page and "ran deploy (unknown)" in page and "1 min · stopped" in page


def test_compactions_hide_no_failure(log: WrittenLog) -> None:
    log.opens()
    compacted = ContextCompacted(
        generation=GENERATION, turn=TURN, step=1, newest=MessageId("msg_2"), before=9_000, after=80, cost="0.01"
    )
    for _ in range(10):
        log.happens(compacted)
    log.happens(TurnEnded(turn=TURN, reason="failed", note=NoteId("not_1"), seal=""), not_1="Out of credit.")

    page, at = log.page(), f"{log.at.astimezone():%H:%M}"
    assert f"  trouble  {at} the turn failed: Out of credit." in page
    assert f"  context  {at} compacted: a request had 9,000 tokens, its conversation now has about 80, $0.0100" in page
    assert "           … and 7 times before" in page


def test_a_subagents_work_belongs_to_the_turn_that_it_works_for(log: WrittenLog) -> None:
    errand = MessageId("msg_3")
    log.opens()
    log.happens(TaskStarted(call=PartId("prt_9"), child=CHILD, prompt=errand, agent="explore"))
    log.answers("It is in a.txt.")
    log.ends()
    log.happens(PromptAccepted(prompt=errand, mode="steer", seal="", call=PartId("prt_9")), of=CHILD)
    log.answers("Found.", of=CHILD)
    log.calls(call("bash", {"command": "grep x"}, title="grep x"), of=CHILD)

    page = log.page()
    assert "           ran explore › grep x" in page
    assert "  said     It is in a.txt." in page and "  used     2 steps · 2,400 tokens · $0.0200" in page


def test_known_costs_are_a_lower_bound_beside_unknown_ones(log: WrittenLog) -> None:
    for number, cost in ((1, None), (2, "0")):
        log.opens(number)
        log.answers(cost=cost)
        log.answers(cost=None)
        log.ends()
    unknown = log.page()
    log.answers(cost="0.01")

    assert unknown[3].endswith("price unknown") and "$" not in "".join(unknown)
    assert log.page()[3] == "  2 turns · 5 steps · 6,000 tokens · at least $0.0100"


def test_the_pieces_of_an_answer_are_one(log: WrittenLog) -> None:
    log.opens()
    log.answers("Not th", finish="length")
    log.runs("make")
    log.answers("All is d", finish="length")
    log.answers("one.")
    log.ends()

    assert any(row.endswith("All is done.") for row in log.page())


def test_many_turns_stay_one_page(log: WrittenLog) -> None:
    for number in range(1, 101):
        log.opens(number, "go on " * 50)
        for command in range(100):
            log.runs(f"{'very ' * 40}long command {command}", exit=int(command == 99))
        log.ends()

    page = log.page(80)
    assert len(page) < 150
    assert [each for each in page if len(each) > 80] == []
    assert "… and 74 turns before these" in page
    assert any("command 99 (exit 1)" in each for each in page)  # what went wrong is not among the counted
    assert "           … and 92 calls more" in page
    assert any(each.startswith("Turn 94 · ") and " · go on " in each for each in page)


def test_no_text_of_a_model_reaches_the_terminal_as_a_sequence(log: WrittenLog) -> None:
    log.opens(prompt="\x1b[2Jx")
    log.runs("ls\r\x1b[2K")
    log.answers("\u202eevil\x07")

    page = "\n".join(log.page())
    assert not {"\x1b", "\r", "\u202e", "\x07"} & set(page)
