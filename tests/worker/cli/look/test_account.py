"""A session's account: what a night's work looks like on one page."""

from datetime import timedelta
from typing import Any

import click
import pytest
from pydantic import JsonValue

from tests.worker.cli.look.test_story import NOON, call
from worker.cli.look.account import Account, page
from worker.client import Overview, Seen
from workflows.domain import events
from workflows.domain.events import Actor, Event, PartSeal, Record
from workflows.domain.ids import AskId, GrantId, MessageId, NoteId, PartId, SessionId, SnapshotId, StopId, TurnId
from workflows.domain.usage import Tokens

ROOT, CHILD = SessionId("ses_1"), SessionId("ses_2")
TURN, ASK, PROMPT = TurnId("trn_1"), AskId("per_1"), MessageId("msg_1")


class Night:
    """A log that is written event by event; each comes so many minutes after the one before it."""

    def __init__(self) -> None:
        self.account = Account(ROOT)
        self.at = NOON
        self.seq = 0

    def happens(
        self, event: Event, minutes: int = 0, who: str = "worker", of: SessionId = ROOT, **contents: Any
    ) -> None:
        self.at += timedelta(minutes=minutes)
        self.seq += 1
        actor = Actor(subject=who, method="test")
        record = Record(session=of, seq=self.seq, at=self.at.isoformat(), actor=actor, event=event)
        self.account.note(Seen(record=record, contents=contents))

    def opens(self, number: int = 1, prompt: str = "make the tests pass") -> None:
        accepted = events.PromptAccepted(prompt=PROMPT, mode="steer", seal="")
        self.happens(accepted, who="ada@here", msg_1={"text": prompt})
        opened = events.TurnOpened(turn=TURN, number=number, snapshot=SnapshotId("cfg_1"), agent="build", model="a/b")
        self.happens(opened)
        self.happens(events.PromptTaken(prompt=PROMPT, turn=TURN, step=1))

    def answers(self, said: str = "", of: SessionId = ROOT, cost: str | None = "0.01") -> None:
        part = PartSeal(part=PartId("prt_t"), kind="text", seal="")
        tokens = Tokens(input=1000, output=200)
        event = events.MessageCompleted(
            message=MessageId("msg_2"), turn=TURN, step=1, finish="stop", tokens=tokens, cost=cost, parts=(part,)
        )
        self.happens(event, of=of, prt_t={"type": "text", "text": said})

    def calls(self, content: JsonValue, state: str = "done", of: SessionId = ROOT) -> None:
        self.happens(events.CallFinished(call=PartId("prt_1"), state=state, seal=""), of=of, prt_1=content)

    def runs(self, command: str, exit: int = 0) -> None:
        self.calls(call("bash", {"command": command}, title=command, metadata={"exit": exit}))

    def asks(self, command: str) -> None:
        raised = events.AskRaised(ask=ASK, call=PartId("prt_1"), permission="bash", digest="")
        self.happens(raised, prt_1=call("bash", {"command": command}))

    def ends(self, reason: str = "done") -> None:
        self.happens(events.TurnEnded(turn=TURN, reason=reason), 1)

    def told(self, columns: int = 100, **changed: Any) -> list[str]:
        seen = Overview.model_validate(STANDING | {"updated_at": self.at} | changed)
        return [click.unstyle(each) for each in page(self.account, seen, self.at, columns)]


STANDING: dict[str, Any] = {name: None for name in Overview.model_fields} | {
    "id": ROOT,
    "depth": 0,
    "away": False,
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
    "retried": False,
}


@pytest.fixture
def night() -> Night:
    return Night()


def test_what_was_done_is_told_in_one_page(night: Night) -> None:
    night.opens()
    night.calls(call("read", {"filePath": "a.py"}, title="a.py"))
    night.calls(call("read", {"filePath": "b.py"}, title="b.py"))
    change: JsonValue = {"filediff": {"additions": 3, "deletions": 1}}
    night.calls(call("edit", {"filePath": "a.py"}, title="a.py", metadata=change))
    night.runs("pytest -q", exit=1)
    night.runs("pytest -q")
    night.answers("All tests pass.")
    night.ends()

    at = f"{NOON.astimezone():%a %d %b %H:%M}"
    assert night.told() == [
        "make the tests pass",
        "  ses_1 in /p · build · a/b",
        f"  {at} – {night.at.astimezone():%H:%M} (1 min)",
        "  1 turn · 1 step · 1,200 tokens · $0.0100",
        "",
        f"Turn 1 · {at} · 1 min · done",
        "  > make the tests pass (ada@here)",
        "  did      read 2, bash 2, edit",
        "           changed a.py (+3 −1)",
        "           ran pytest -q (2 times, 1 failed)",
        "  said     All tests pass.",
        "  used     1 step · 1,200 tokens · $0.0100",
        "",
        "Now: done",
    ]


def test_who_has_answered_what_and_after_how_long(night: Night) -> None:
    night.opens()
    night.asks("make")
    answered = events.AskAnswered(ask=ASK, call=PartId("prt_1"), reply="always", digest="")
    night.happens(answered, 192, who="ada@phone")
    made = events.GrantMade(ask=ASK, grant=GrantId("gra_1"), scope="session", permission="bash", patterns=("make *",))
    night.happens(made, who="ada@phone")

    told = "\n".join(night.told())
    assert " bash make → always by ada@phone after 3 h 12 min" in told
    assert "from then on allowed: bash: make * in this session" in told


def test_a_rejection_has_its_reason_and_an_open_question_its_id(night: Night) -> None:
    night.opens()
    night.asks("rm -rf build")
    waiting = "\n".join(night.told())
    rejected = events.AskAnswered(ask=ASK, call=PartId("prt_1"), reply="reject", digest="", feedback_seal="x")
    request: JsonValue = {"permission": "bash", "patterns": ["rm -rf build"]}
    night.happens(rejected, who="ada@here", per_1={"request": request, "feedback": "use make", "author": "ada@here"})

    assert "bash rm -rf build → no answer yet (per_1)" in waiting
    assert "→ rejected by ada@here after 0 s: use make" in "\n".join(night.told())


def test_failures_of_a_provider_are_one_trouble_until_it_answers(night: Night) -> None:
    night.opens()
    for attempt in range(1, 4):
        failed = events.ModelRetry(
            turn=TURN, step=1, attempt=attempt, kind="429", note=NoteId("not_1"), seal="", next_at=""
        )
        night.happens(failed, 5, not_1="Too many requests")
    night.happens(events.TaskSettled(call=PartId("prt_9"), child=CHILD, seq=1, head=""), 2)
    night.answers("Here.")

    first, end = (f"{at.astimezone():%H:%M}" for at in (NOON + timedelta(minutes=5), night.at))
    said = f"{first} the provider failed (429, 3 times, answered at {end}): Too many requests"
    assert f"  trouble  {said}" in night.told()


def test_interruptions_unknown_ends_and_stops_are_troubles(night: Night) -> None:
    night.opens()
    content = call("bash", {"command": "deploy"}, title="deploy")
    claimed = events.CallClaimed(call=PartId("prt_1"), fence=(1, 1, 1), snapshot=SnapshotId("cfg_1"), recovered=True)
    night.happens(claimed, prt_1=content)
    night.calls(content, "unknown")
    night.happens(claimed, prt_1=call("task", {"description": "look"}, title="look"))  # its subagent has ended
    night.happens(events.StopAccepted(stop=StopId("stp_1"), turn=TURN), who="ada@here")
    night.ends("stopped")

    told = "\n".join(night.told())
    assert "bash deploy: resumed after an interruption" in told and "task look" not in told
    assert "bash deploy: nobody knows whether it happened" in told
    assert "stopped by ada@here" in told and "ran deploy (unknown)" in told and "1 min · stopped" in told


def test_a_subagents_work_belongs_to_the_turn_that_it_works_for(night: Night) -> None:
    errand = MessageId("msg_3")
    night.opens()
    night.happens(events.TaskStarted(call=PartId("prt_9"), child=CHILD, prompt=errand, agent="explore"))
    night.answers("It is in a.txt.")
    night.ends()
    night.happens(events.PromptAccepted(prompt=errand, mode="steer", seal="", call=PartId("prt_9")), of=CHILD)
    night.answers("Found.", of=CHILD)
    night.calls(call("bash", {"command": "grep x"}, title="grep x"), of=CHILD)

    told = night.told()
    assert "           ran explore › grep x" in told
    assert "  said     It is in a.txt." in told and "  used     2 steps · 2,400 tokens · $0.0200" in told


def test_what_it_cost_is_what_is_known_of_it(night: Night) -> None:
    for number, cost in ((1, None), (2, "0")):
        night.opens(number)
        night.answers(cost=cost)
        night.answers(cost=None)
        night.ends()
    unknown = night.told()
    night.answers(cost="0.01")

    assert unknown[3].endswith("price unknown") and "$" not in "".join(unknown)
    assert night.told()[3] == "  2 turns · 5 steps · 6,000 tokens · at least $0.0100"


def test_a_long_night_stays_one_page(night: Night) -> None:
    for number in range(1, 101):
        night.opens(number, "go on " * 50)
        for command in range(100):
            night.runs(f"{'very ' * 40}long command {command}", exit=command == 99)
        night.ends()

    told = night.told(80)
    assert len(told) < 150
    assert [each for each in told if len(each) > 80] == []
    assert "… and 74 turns before these" in told
    assert any("command 99 (failed)" in each for each in told)  # what went wrong is not among the counted
    assert "           … and 92 commands more" in told
    assert any(each.startswith("Turn 94 · ") and " · go on " in each for each in told)


def test_no_text_of_a_model_reaches_the_terminal_as_a_sequence(night: Night) -> None:
    night.opens(prompt="\x1b[2Jx")
    night.runs("ls\r\x1b[2K")
    night.answers("\u202eevil\x07")

    told = "\n".join(night.told())
    assert not {"\x1b", "\r", "\u202e", "\x07"} & set(told)
