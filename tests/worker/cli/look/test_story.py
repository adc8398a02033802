"""The story that people are told of a session."""

from datetime import UTC, datetime, timedelta

import click
import pytest
from pydantic import JsonValue

from worker.cli.look.page import Page
from worker.cli.look.story import Story
from worker.client import Delta, Seen
from workflows.domain import events
from workflows.domain.events import Actor, Event, Record
from workflows.domain.ids import AskId, MessageId, NoteId, PartId, RetryId, SessionId, SnapshotId, TurnId
from workflows.domain.usage import Tokens

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOTE = NoteId("trn_1/error")
TURN, CALL, MESSAGE, PART = TurnId("trn_1"), PartId("prt_1"), MessageId("msg_1"), PartId("prt_2")
Capture = pytest.CaptureFixture[str]


def seen(event: Event, **contents: JsonValue) -> Seen:
    actor = Actor(subject="ada@here", method="cli")
    return Seen(
        record=Record(session=SessionId("ses_1"), seq=1, at=NOON.isoformat(), actor=actor, event=event),
        contents=contents,
    )


def piece(text: str, attempt: str = "1-1-1", kind: str = "text") -> Delta:
    body: dict[str, JsonValue] = {"part": 0, "kind": kind, "text": text, "name": None}
    return Delta(id=1, source=MESSAGE, attempt=attempt, body=body)


def completed() -> events.MessageCompleted:
    parts = (events.PartSeal(part=PART, kind="text", seal=""),)
    return events.MessageCompleted(
        message=MESSAGE, turn=TURN, step=1, finish="stop", tokens=Tokens(), cost="0", parts=parts
    )


def finished(state: str = "done") -> events.CallFinished:
    return events.CallFinished(call=CALL, state=state, seal="")


def call(tool: str, arguments: dict[str, JsonValue], **outcome: JsonValue) -> JsonValue:
    return {"tool": tool, "arguments": arguments, "outcome": {"output": "", **outcome} if outcome else None}


def told(capsys: Capture) -> str:
    return click.unstyle(capsys.readouterr().out)


@pytest.fixture
def story() -> Story:
    return Story(Page(live=False), now=lambda: NOON)


@pytest.fixture
def live() -> Story:
    return Story(Page(live=True), now=lambda: NOON)


def test_a_finished_answer_is_told_whole(story: Story, capsys: Capture) -> None:
    story.tell(seen(completed(), prt_2={"type": "text", "text": "Hello,\nyou\x1b[2J."}))

    assert told(capsys) == "Hello,\nyou\\x1b[2J.\n"


@pytest.mark.parametrize(
    ("tokens", "said"), [(Tokens(output=1200), "cut at 1,200 tokens"), (Tokens(), "cut at its limit")]
)
def test_an_answer_that_was_cut_says_so_with_the_number_of_its_tokens_if_that_is_known(
    story: Story, capsys: Capture, tokens: Tokens, said: str
) -> None:
    cut = completed().model_copy(update={"finish": "length", "tokens": tokens})
    story.tell(seen(cut, prt_2={"type": "text", "text": "Hel"}))

    assert told(capsys) == f"Hel\n! The answer was {said}.\n"


THOUGHT: JsonValue = {"type": "reasoning", "text": "I look\x1b[2J.\nThen?"}


def thoughtful() -> events.MessageCompleted:
    thought = events.PartSeal(part=PartId("prt_3"), kind="reasoning", seal="")
    return completed().model_copy(update={"parts": (thought, *completed().parts)})


def test_what_the_model_thinks_is_told_where_it_is_wanted(story: Story, capsys: Capture) -> None:
    thinking = Story(Page(live=False), now=lambda: NOON, thinking=True)

    for each in (story, thinking):
        each.tell(seen(thoughtful(), prt_3=THOUGHT, prt_2={"type": "text", "text": "Hello."}))

    assert told(capsys) == "Hello.\n  Thinking: I look\\x1b[2J.\n  Then?\n\nHello.\n"


def test_what_the_model_thinks_grows_on_a_terminal_as_a_quote(capsys: Capture) -> None:
    live = Story(Page(live=True), now=lambda: NOON, thinking=True)

    live.show(piece("I look", kind="reasoning"))
    live.page.draw()
    grown = told(capsys)
    live.tell(seen(thoughtful(), prt_3=THOUGHT, prt_2={"type": "text", "text": "Hello."}))

    assert "▌ Thinking: I look" in grown and "interrupted" not in (whole := told(capsys))
    assert "▌ Then?" in whole and whole.rstrip().endswith("Hello.")


def test_pieces_of_an_older_attempt_or_a_finished_answer_are_not_shown(live: Story, capsys: Capture) -> None:
    live.show(piece("new", "1-1-2"))
    live.show(piece("OLD", "1-1-1"))
    live.tell(seen(completed(), prt_2={"type": "text", "text": "new one"}))
    live.show(piece("LATE", "1-1-2"))
    live.page.draw()

    assert told(capsys).strip() == "new one"


def test_a_newer_attempt_takes_the_older_ones_place(live: Story, capsys: Capture) -> None:
    live.show(piece("one"))
    live.page.draw()
    live.show(piece("two", "1-1-2"))
    live.page.draw()

    assert capsys.readouterr().out == "\r\x1b[Jone\r\x1b[J\r\x1b[Jtwo"


def test_a_pause_says_how_long_why_and_which_attempt(story: Story, capsys: Capture) -> None:
    later = NOON + timedelta(seconds=42)
    retry = events.ModelRetry(turn=TURN, step=1, attempt=3, kind="429", note=NOTE, seal="", next_at=later.isoformat())

    story.tell(seen(retry, **{NOTE: "Too many requests"}))

    assert told(capsys) == f"retrying at {later.astimezone():%H:%M:%S} (attempt 3): Too many requests\n"


def test_a_pause_that_is_over_is_told_as_such(story: Story, capsys: Capture) -> None:
    before = (NOON - timedelta(hours=1)).isoformat()
    story.tell(seen(events.ModelRetry(turn=TURN, step=1, attempt=1, kind="503", note=NOTE, seal="", next_at=before)))

    assert told(capsys) == "retried (attempt 1): (erased)\n"


def test_a_command_is_told_when_it_begins_and_with_its_output_when_it_ends(story: Story, capsys: Capture) -> None:
    prepared = events.CallPrepared(call=CALL, turn=TURN, step=1, tool="bash", recovery="reattachable", seal="")
    claimed = events.CallClaimed(call=CALL, fence=(1, 1, 1), snapshot=SnapshotId("cfg_1"))
    arguments: dict[str, JsonValue] = {"command": "pytest -q"}

    story.tell(seen(prepared, prt_1=call("bash", arguments)))
    story.tell(seen(claimed, prt_1=call("bash", arguments)))
    story.tell(seen(finished(), prt_1=call("bash", arguments, title="pytest -q", output="1 passed\n")))

    assert told(capsys) == "… bash  pytest -q\n✓ bash  pytest -q\n  │ 1 passed\n"


def test_a_quick_call_is_told_once(story: Story, capsys: Capture) -> None:
    prepared = events.CallPrepared(call=CALL, turn=TURN, step=1, tool="read", recovery="repeatable", seal="")
    claimed = events.CallClaimed(call=CALL, fence=(1, 1, 1), snapshot=SnapshotId("cfg_1"))

    story.tell(seen(prepared))
    story.tell(seen(claimed))
    story.tell(seen(finished(), prt_1=call("read", {"filePath": "a.txt"}, title="a.txt", output="1: x")))

    assert told(capsys) == "✓ read  a.txt\n"


def test_a_change_shows_its_difference_unless_it_was_asked_about(story: Story, capsys: Capture) -> None:
    diff = "Index: a\n===\n--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y\n"
    change = call("edit", {"filePath": "a"}, title="a", metadata={"diff": diff})

    story.tell(seen(finished(), prt_1=change))
    first = told(capsys)
    story.tell(seen(events.AskRaised(ask=AskId("per_1"), call=CALL, permission="edit", digest=""), prt_1=change))
    story.tell(seen(finished(), prt_1=change))

    assert first == "✓ edit  a\n  │   @@ -1,1 +1,1 @@\n  │ 1 -x\n  │ 1 +y\n"
    assert told(capsys) == "? edit  a needs an answer (per_1)\n✓ edit  a\n"


def test_what_nobody_knows_is_told_as_unknown(story: Story, capsys: Capture) -> None:
    story.tell(seen(finished("unknown"), prt_1=call("bash", {"command": "deploy"}, output="It may have happened.")))

    assert told(capsys) == "? bash  deploy (unknown)\n  │ It may have happened.\n"


@pytest.mark.parametrize(
    ("metadata", "cost"),
    [
        ({}, ""),
        ({"cost": "0.25"}, " · $0.2500"),
        ({"cost": None, "unpriced": 2}, " · price unknown"),
        ({"cost": "0.25", "unpriced": 1}, " · at least $0.2500"),
    ],
)
def test_a_subagents_end_says_what_it_cost(
    story: Story, capsys: Capture, metadata: dict[str, JsonValue], cost: str
) -> None:
    story.tell(seen(finished(), prt_1=call("task", {}, title="look", metadata=metadata)))

    assert told(capsys).splitlines()[0] == f"✓ task  look{cost}"


def test_tasks_are_told_as_a_list(story: Story, capsys: Capture) -> None:
    todos: list[JsonValue] = [
        {"content": "look", "status": "completed", "priority": "high"},
        {"content": "mend", "status": "in_progress", "priority": "high"},
        {"content": "tell", "status": "pending", "priority": "low"},
    ]
    story.tell(seen(finished(), prt_1=call("todowrite", {}, title="2 todos", metadata={"todos": todos})))

    assert told(capsys) == "✓ todowrite  2 todos\n  [x] look\n  [~] mend\n  [ ] tell\n"


AGAIN = "  holdfast retry ses_1  retries it; `-m provider/model` asks another model\n"
RETRY = RetryId("rty_1")


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (events.TurnEnded(turn=TURN, reason="failed", note=NOTE), f"The task failed: no key\n{AGAIN}"),
        (events.RetryAccepted(retry=RETRY, turn=TURN), "The failed turn is retried, by ada@here.\n"),
        (events.RetryWithdrawn(retry=RETRY, reason="stopped"), "The retry was withdrawn: stopped.\n"),
        (events.TurnEnded(turn=TURN, reason="stopped"), "The turn has ended: stopped.\n"),
        (events.TurnEnded(turn=TURN, reason="done"), ""),
        (events.SessionEnded(reason="ended by a person"), "The session has ended: ended by a person.\n"),
        (events.AskClosed(ask=AskId("per_1"), call=CALL, reason="the turn ended"), "closed: the turn ended.\n"),
        (events.AnswerNotRun(ask=AskId("per_1"), call=CALL), "accepted, but not run: the turn was stopped.\n"),
        (events.AskAnswered(ask=AskId("per_1"), call=CALL, reply="once", digest=""), "→ once, from ada@here\n"),
    ],
)
def test_endings_and_answers_are_told_in_a_sentence(story: Story, capsys: Capture, event: Event, said: str) -> None:
    story.tell(seen(event, **{NOTE: "no key"}))

    assert told(capsys).endswith(said)


def test_a_rejection_is_told_with_its_reason(story: Story, capsys: Capture) -> None:
    event = events.AskAnswered(ask=AskId("per_1"), call=CALL, reply="reject", digest="", feedback_seal="x")
    request: JsonValue = {"permission": "bash", "patterns": ["pip install x"]}

    story.tell(seen(event, per_1={"request": request, "feedback": "use uv", "author": "ada@here"}))

    assert told(capsys) == "  → rejected by ada@here: use uv\n"


def test_the_name_of_an_agent_stays_on_its_line_and_moves_no_cursor(story: Story, capsys: Capture) -> None:
    opened = {"turn": TURN, "number": 1, "snapshot": SnapshotId("cfg_1"), "model": "a/b"}
    story.tell(seen(events.TurnOpened(agent="x\n\x1b[2J? bash needs an answer", **opened)))
    assert told(capsys) == "Turn 1 · x \\x1b[2J? bash needs an answer · a/b\n"


@pytest.mark.parametrize(
    ("code", "output", "shown"),
    [
        (0, "fine", ["✓ bash  make", "  │ fine"]),
        (
            2,
            "no rule\n\n<shell_metadata>\nexit code 2\n</shell_metadata>",
            ["✗ bash  make (exit 2)", "  │ no rule"],
        ),
        (
            None,
            "half\n\n<shell_metadata>\nIt took too long\n</shell_metadata>",
            ["✗ bash  make (ended early)", "  │ half", "  │ [It took too long]"],
        ),
    ],
)
def test_a_command_that_fails_has_a_cross_and_its_exit_code(
    story: Story, capsys: Capture, code: int | None, output: str, shown: list[str]
) -> None:
    made = call("bash", {"command": "make"}, output=output, metadata={"exit": code})

    story.tell(seen(finished(), prt_1=made))

    assert told(capsys).splitlines() == shown


def test_a_call_that_could_not_be_made_is_named_with_what_is_wrong(story: Story, capsys: Capture) -> None:
    made = call("invalid", {"tool": "fly", "error": "no such tool"}, title="Invalid Tool", output="x")

    story.tell(seen(finished(), prt_1=made))

    assert told(capsys) == "✗ fly  no such tool (not called)\n"
