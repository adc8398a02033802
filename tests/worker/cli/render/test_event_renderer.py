"""A session's events as lines for people."""

from datetime import UTC, datetime, timedelta

import click
import pyte
import pytest
from pydantic import JsonValue

from activities.tools.registry import TOOLS
from worker.cli.render.event_renderer import EventRenderer
from worker.cli.render.terminal_writer import TerminalWriter
from workflows.domain.actor import Actor
from workflows.domain.events.asks import AnswerNotRun, AskAnswered, AskClosed, AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished, CallPrepared
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.generations import MessageCompleted, ModelRetry, PartSeal
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.sessions import (
    SessionEnded,
    SessionRefreshed,
    SessionRestarted,
    SessionSuspended,
    SessionTitled,
)
from workflows.domain.events.turns import ConfigurationChanged, RetryAccepted, RetryWithdrawn, TurnEnded, TurnOpened
from workflows.domain.generation import Purpose
from workflows.domain.ids import (
    AskId,
    GenerationId,
    MessageId,
    NoteId,
    PartId,
    RetryId,
    SessionId,
    SuspensionId,
    TurnConfigId,
    TurnId,
)
from workflows.domain.suspension import SuspendReason
from workflows.domain.usage import Tokens
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOTE = NoteId("trn_1/error")
GENERATION = GenerationId("gen_1")
TURN, CALL, MESSAGE, PART = TurnId("trn_1"), PartId("prt_1"), MessageId("msg_1"), PartId("prt_2")
Capture = pytest.CaptureFixture[str]


def seen(event: Event, **contents: JsonValue) -> EventWithContents:
    actor = Actor(subject="ada@here", method="cli")
    return EventWithContents(
        record=EventRecord(session=SessionId("ses_1"), seq=1, at=NOON.isoformat(), actor=actor, event=event),
        contents=contents,
    )


def piece(text: str, attempt: str = "1-1-1", kind: str = "text", source: str = MESSAGE) -> PublishedDelta:
    body: dict[str, JsonValue] = {"part": PART, "kind": kind, "text": text, "name": None}
    return PublishedDelta(id=1, source=source, attempt=attempt, body=body)


def completed() -> MessageCompleted:
    parts = (PartSeal(part=PART, kind="text", seal=""),)
    return MessageCompleted(
        generation=GENERATION, message=MESSAGE, turn=TURN, step=1, finish="stop", tokens=Tokens(), cost="0", parts=parts
    )


def finished(state: str = "done") -> CallFinished:
    return CallFinished(call=CALL, state=state, seal="")


def call(tool: str, arguments: dict[str, JsonValue], **outcome: JsonValue) -> JsonValue:
    told: dict[str, JsonValue] = {
        "tool": tool,
        "arguments": arguments,
        "display": TOOLS[tool].display.model_dump(mode="json"),
    }
    return {**told, "outcome": {"output": "", **outcome} if outcome else None}


def printed(capsys: Capture) -> str:
    return click.unstyle(capsys.readouterr().out)


@pytest.fixture
def renderer() -> EventRenderer:
    return EventRenderer(TerminalWriter(live=False), now=lambda: NOON)


@pytest.fixture
def live() -> EventRenderer:
    return EventRenderer(TerminalWriter(live=True), now=lambda: NOON)


def test_a_finished_answer_is_shown_whole(renderer: EventRenderer, capsys: Capture) -> None:
    renderer.on_event(seen(completed(), prt_2={"type": "text", "text": "Hello,\nyou\x1b[2J."}))

    assert printed(capsys) == "Hello,\nyou\\x1b[2J.\n"


def test_repairs_of_a_session_are_shown(renderer: EventRenderer, capsys: Capture) -> None:
    for event in (
        SessionRefreshed(run=None, refreshes=1),
        SessionRefreshed(run="run", refreshes=2),
        SessionRestarted(run="run", restarts=1),
        SessionSuspended(
            suspension=SuspensionId("prk_1"), reason=SuspendReason.STALLED, was="its workflow task has failed", now="5"
        ),
    ):
        renderer.on_event(seen(event))

    lines = printed(capsys)
    assert "had work and no run: it was refreshed" in lines
    assert "did not go on: it was refreshed" in lines
    assert "restarted (1)" in lines and "restarted 5 times: its workflow task has failed." in lines


def titled() -> MessageCompleted:
    """The answer of a session's title."""
    return completed().model_copy(update={"purpose": Purpose.TITLE, "turn": None, "step": None})


def test_an_answer_beside_the_turn_and_its_failures_are_not_shown(renderer: EventRenderer, capsys: Capture) -> None:
    failed = ModelRetry(
        generation=GENERATION, purpose=Purpose.TITLE, attempt=1, kind="503", note=NOTE, seal="", next_at=""
    )
    for event in (failed, titled()):
        renderer.on_event(seen(event, prt_2={"type": "text", "text": "A title"}, **{NOTE: "Busy"}))

    assert printed(capsys) == ""


@pytest.mark.parametrize(
    ("tokens", "said"), [(Tokens(output=1200), "cut at 1,200 tokens"), (Tokens(), "cut at its limit")]
)
def test_a_cut_answer_is_reported_with_its_tokens_if_known(
    renderer: EventRenderer, capsys: Capture, tokens: Tokens, said: str
) -> None:
    cut = completed().model_copy(update={"finish": "length", "tokens": tokens})
    renderer.on_event(seen(cut, prt_2={"type": "text", "text": "Hel"}))
    renderer.on_event(seen(completed(), prt_2={"type": "text", "text": "lo."}))
    assert printed(capsys) == f"Hel\n… {said}, and continued\nlo.\n"

    renderer.on_event(seen(cut, prt_2={"type": "text", "text": "Hel"}))
    renderer.on_event(seen(TurnEnded(turn=TURN, reason="done", note=None, seal=None)))
    assert printed(capsys) == f"Hel\n! The answer was {said}: the model's `limit.output` is how long one may be.\n"


THOUGHT: JsonValue = {"type": "reasoning", "text": "I look\x1b[2J.\nThen?"}


def thoughtful() -> MessageCompleted:
    thought = PartSeal(part=PartId("prt_3"), kind="reasoning", seal="")
    return completed().model_copy(update={"parts": (thought, *completed().parts)})


def test_reasoning_is_shown_with_thinking(renderer: EventRenderer, capsys: Capture) -> None:
    thinking = EventRenderer(TerminalWriter(live=False), now=lambda: NOON, thinking=True)

    for each in (renderer, thinking):
        each.on_event(seen(thoughtful(), prt_3=THOUGHT, prt_2={"type": "text", "text": "Hello."}))

    assert printed(capsys) == "Hello.\n  Thinking: I look\\x1b[2J.\n  Then?\n\nHello.\n"


async def test_reasoning_grows_on_a_terminal_as_a_quote(capsys: Capture) -> None:
    live = EventRenderer(TerminalWriter(live=True), now=lambda: NOON, thinking=True)

    live.on_delta(piece("I look", kind="reasoning"))
    live.writer.draw()
    grown = printed(capsys)
    live.on_event(seen(thoughtful(), prt_3=THOUGHT, prt_2={"type": "text", "text": "Hello."}))

    assert "▌ Thinking: I look" in grown and "interrupted" not in (whole := printed(capsys))
    assert "▌ Then?" in whole and whole.rstrip().endswith("Hello.")


def test_pieces_of_an_older_attempt_or_a_finished_answer_are_not_shown(live: EventRenderer, capsys: Capture) -> None:
    live.on_delta(piece("new", "1-1-2"))
    live.on_delta(piece("OLD", "1-1-1"))
    live.on_event(seen(completed(), prt_2={"type": "text", "text": "new one"}))
    live.on_delta(piece("LATE", "1-1-2"))
    live.writer.draw()

    assert printed(capsys).strip() == "new one"


@pytest.mark.parametrize(
    ("event", "note"),
    [
        (TurnEnded(turn=TURN, reason="stopped"), "(That answer was interrupted and does not count.)"),
        (completed(), "(Pieces of that answer were lost on the way; here is all of it.)"),
    ],
)
async def test_a_note_says_what_becomes_of_an_answer_that_was_shown_in_part(
    live: EventRenderer, capsys: Capture, event: Event, note: str
) -> None:
    live.on_delta(piece("one\n\nthree\n\nfour"))
    live.writer.draw()
    live.on_event(seen(event, prt_2={"type": "text", "text": "one\n\ntwo\n\nthree"}))

    assert note in printed(capsys)


@pytest.mark.parametrize("renewed", [MESSAGE, "msg_2"])
async def test_a_newer_attempt_takes_the_older_ones_place(live: EventRenderer, capsys: Capture, renewed: str) -> None:
    live.on_delta(piece("one"))
    live.writer.draw()
    live.on_delta(piece("two", "1-1-2", source=renewed))
    live.on_delta(piece("LATE", "1-1-1"))
    live.writer.draw()

    screen = pyte.Screen(40, 5)
    pyte.Stream(screen).feed(capsys.readouterr().out)
    assert "".join(screen.display).split() == ["two"]


def test_a_pause_shows_how_long_why_and_which_attempt(renderer: EventRenderer, capsys: Capture) -> None:
    later = NOON + timedelta(seconds=42)
    retry = ModelRetry(
        generation=GENERATION, turn=TURN, step=1, attempt=3, kind="429", note=NOTE, seal="", next_at=later.isoformat()
    )

    renderer.on_event(seen(retry, **{NOTE: "Too many requests"}))

    assert printed(capsys) == f"retrying at {later.astimezone():%H:%M:%S} (attempt 3): Too many requests\n"


@pytest.mark.parametrize(
    ("mode", "how"),
    [("steer", "joins at the next step"), ("queue", "waits for a turn of its own, as reviewer")],
)
def test_a_prompt_during_a_turn_says_when_it_is_worked_on_and_as_whom(
    renderer: EventRenderer, capsys: Capture, mode: str, how: str
) -> None:
    turn = TurnOpened(turn=TURN, number=1, turn_config=TurnConfigId("cfg_1"), agent="build", model="a/b")
    prompt = PromptAccepted(prompt=MESSAGE, mode=mode, seal="", agent="reviewer")
    renderer.on_event(seen(turn))
    printed(capsys)
    content: JsonValue = {"parts": [{"type": "text", "text": "Look again."}]}
    renderer.on_event(seen(prompt, **{MESSAGE: content}))

    assert printed(capsys) == f"+ Look again. ({how})\n"


def test_a_changed_configuration_is_shown_in_a_few_lines(renderer: EventRenderer, capsys: Capture) -> None:
    before, after = TurnConfigId("cfg_1"), TurnConfigId("cfg_2")
    changed = ConfigurationChanged(turn=TURN, before=before, after=after, note=NOTE, seal="")
    lines = "\n".join(f"field{number}: 1 → \x1b[2J" for number in range(6))
    renderer.on_event(seen(changed, **{NOTE: lines}))

    first, *others = printed(capsys).splitlines()
    assert first == "The configuration has changed: field0: 1 → \\x1b[2J"
    assert others[:3] == [f"    field{number}: 1 → \\x1b[2J" for number in (1, 2, 3)]
    assert others[3:] == ["    … `holdfast log --events` has all 6"]


def test_a_pause_that_is_over_is_shown_as_retried(renderer: EventRenderer, capsys: Capture) -> None:
    before = (NOON - timedelta(hours=1)).isoformat()
    renderer.on_event(
        seen(
            ModelRetry(
                generation=GENERATION, turn=TURN, step=1, attempt=1, kind="503", note=NOTE, seal="", next_at=before
            )
        )
    )

    assert printed(capsys) == "retried (attempt 1): (deleted)\n"


def test_a_command_is_shown_at_its_start_and_with_its_output_at_its_end(
    renderer: EventRenderer, capsys: Capture
) -> None:
    prepared = CallPrepared(call=CALL, turn=TURN, step=1, tool="bash", recovery="reattachable", seal="")
    claimed = CallClaimed(call=CALL, fence=(1, 1, 1, 1), turn_config=TurnConfigId("cfg_1"))
    arguments: dict[str, JsonValue] = {"command": "pytest -q"}

    renderer.on_event(seen(prepared, prt_1=call("bash", arguments)))
    renderer.on_event(seen(claimed, prt_1=call("bash", arguments)))
    renderer.on_event(seen(finished(), prt_1=call("bash", arguments, title="pytest -q", output="1 passed\n")))

    assert printed(capsys) == "… bash  pytest -q\n✓ bash  pytest -q\n  │ 1 passed\n"


def test_a_quick_call_is_shown_once(renderer: EventRenderer, capsys: Capture) -> None:
    prepared = CallPrepared(call=CALL, turn=TURN, step=1, tool="read", recovery="repeatable", seal="")
    claimed = CallClaimed(call=CALL, fence=(1, 1, 1, 1), turn_config=TurnConfigId("cfg_1"))

    renderer.on_event(seen(prepared))
    renderer.on_event(seen(claimed))
    renderer.on_event(seen(finished(), prt_1=call("read", {"filePath": "a.txt"}, title="a.txt", output="1: x")))
    loaded = call("read", {"filePath": "a.txt"}, title="a.txt", metadata={"loaded": ["/p/sub/AGENTS.md"]})
    renderer.on_event(seen(finished(), prt_1=loaded))

    assert printed(capsys) == "✓ read  a.txt\n✓ read  a.txt · with /p/sub/AGENTS.md\n"


def test_a_call_with_mended_arguments_says_so(renderer: EventRenderer, capsys: Capture) -> None:
    mended = call("read", {"filePath": "a.txt"}, title="a.txt")
    assert isinstance(mended, dict) and isinstance(mended["display"], dict)
    mended["display"]["mended"] = True
    renderer.on_event(seen(finished(), prt_1=mended))
    renderer.on_event(seen(finished("failed"), prt_1=mended))
    assert printed(capsys) == "✓ read  a.txt · arguments mended\n✗ read  a.txt · arguments mended (failed)\n"


def test_a_change_shows_its_difference_unless_it_was_asked_about(renderer: EventRenderer, capsys: Capture) -> None:
    diff = "Index: a\n===\n--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y\n"
    change = call("edit", {"filePath": "a"}, title="a", metadata={"diff": diff})

    renderer.on_event(seen(finished(), prt_1=change))
    first = printed(capsys)
    renderer.on_event(seen(AskRaised(ask=AskId("per_1"), call=CALL, permissions=("edit",), digest=""), prt_1=change))
    renderer.on_event(seen(finished(), prt_1=change))

    assert first == "✓ edit  a\n  │   @@ -1,1 +1,1 @@\n  │ 1 -x\n  │ 1 +y\n"
    assert printed(capsys) == "? edit  a needs an answer (per_1)\n✓ edit  a\n"


def test_an_unknown_outcome_is_shown_as_unknown(renderer: EventRenderer, capsys: Capture) -> None:
    renderer.on_event(
        seen(finished("unknown"), prt_1=call("bash", {"command": "deploy"}, output="It may have happened."))
    )

    assert printed(capsys) == "? bash  deploy (unknown)\n  │ It may have happened.\n"


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
    renderer: EventRenderer, capsys: Capture, metadata: dict[str, JsonValue], cost: str
) -> None:
    renderer.on_event(seen(finished(), prt_1=call("task", {}, title="look", metadata=metadata)))

    assert printed(capsys).splitlines()[0] == f"✓ task  look{cost}"


def test_todos_are_shown_as_a_list(renderer: EventRenderer, capsys: Capture) -> None:
    todos: list[JsonValue] = [
        {"content": "look", "status": "completed", "priority": "high"},
        {"content": "mend", "status": "in_progress", "priority": "high"},
        {"content": "tell", "status": "pending", "priority": "low"},
    ]
    renderer.on_event(seen(finished(), prt_1=call("todowrite", {}, title="2 todos", metadata={"todos": todos})))

    assert printed(capsys) == "✓ todowrite  2 todos\n  [x] look\n  [~] mend\n  [ ] tell\n"


LINE = "✓ bash  git push"


@pytest.mark.parametrize(
    ("event", "content"),
    [
        (finished("failed"), call("invalid", {"tool": "a " * 39 + LINE, "error": "x"}, title="Invalid Tool")),
        (finished(), call("todowrite", {}, metadata={"todos": [{"content": "a " * 37 + LINE, "status": "pending"}]})),
        (SessionTitled(note=NOTE, seal="", generation=GENERATION), "a" * 76 + LINE.replace(" ", "\u2800")),
        (TurnEnded(turn=TURN, reason="failed", note=NOTE), f"no key\n{LINE}"),
    ],
)
def test_words_of_others_never_begin_a_row(
    live: EventRenderer, capsys: Capture, event: Event, content: JsonValue
) -> None:
    live.on_event(seen(event, **{CALL: content, NOTE: content}))

    screen = pyte.Screen(80, 12)
    pyte.Stream(screen).feed(capsys.readouterr().out.replace("\n", "\r\n"))
    rows = [row.replace("\u2800", " ") for row in screen.display]
    assert any("git" in row for row in rows) and not any(row.startswith("✓ bash") for row in rows)


AGAIN = "  holdfast retry ses_1  retries it; `-m provider/model` asks another model\n"
RETRY = RetryId("rty_1")


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (TurnEnded(turn=TURN, reason="failed", note=NOTE), f"The task failed: no key\n{AGAIN}"),
        (RetryAccepted(retry=RETRY, turn=TURN), "The failed turn is retried, by ada@here.\n"),
        (RetryWithdrawn(retry=RETRY, reason="stopped"), "The retry was withdrawn: stopped.\n"),
        (TurnEnded(turn=TURN, reason="stopped"), "The turn has ended: stopped.\n"),
        (TurnEnded(turn=TURN, reason="done"), ""),
        (SessionEnded(reason="ended by a person"), "The session has ended: ended by a person.\n"),
        (AskClosed(ask=AskId("per_1"), call=CALL, reason="the turn ended"), "closed: the turn ended.\n"),
        (AnswerNotRun(ask=AskId("per_1"), call=CALL), "accepted, but not run: the turn was stopped.\n"),
        (AskAnswered(ask=AskId("per_1"), call=CALL, reply="once", digest=""), "→ once by ada@here\n"),
    ],
)
def test_endings_and_answers_are_sentences(renderer: EventRenderer, capsys: Capture, event: Event, said: str) -> None:
    renderer.on_event(seen(event, **{NOTE: "no key"}))

    assert printed(capsys).endswith(said)


def test_a_rejection_is_shown_with_its_reason(renderer: EventRenderer, capsys: Capture) -> None:
    event = AskAnswered(ask=AskId("per_1"), call=CALL, reply="reject", digest="", feedback_seal="x")
    request: JsonValue = {"permission": "bash", "patterns": ["pip install x"]}

    renderer.on_event(seen(event, per_1={"request": request, "feedback": "use uv", "author": "ada@here"}))

    assert printed(capsys) == "  → rejected by ada@here: use uv\n"


@pytest.mark.parametrize("outcome", [{}, {"title": "Not agreed"}], ids=["open", "answered"])
def test_a_question_is_shown_as_it_was_asked(
    renderer: EventRenderer, capsys: Capture, outcome: dict[str, JsonValue]
) -> None:
    raised = AskRaised(ask=AskId("per_1"), call=CALL, permissions=("plan_exit",), digest="")
    renderer.on_event(
        seen(raised, per_1={"name": "a7"}, prt_1=call("plan_exit", {"summary": "Split the module"}, **outcome))
    )
    assert printed(capsys) == "? plan_exit  Split the module needs an answer (a7)\n"


def test_the_name_of_an_agent_stays_on_its_line_and_moves_no_cursor(renderer: EventRenderer, capsys: Capture) -> None:
    opened = {"turn": TURN, "number": 1, "turn_config": TurnConfigId("cfg_1"), "model": "a/b"}
    renderer.on_event(seen(TurnOpened(agent="x\n\x1b[2J? bash needs an answer", **opened)))
    assert printed(capsys) == "Turn 1 · x \\x1b[2J? bash needs an answer · a/b\n"


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
    renderer: EventRenderer, capsys: Capture, code: int | None, output: str, shown: list[str]
) -> None:
    made = call("bash", {"command": "make"}, output=output, metadata={"exit": code})

    renderer.on_event(seen(finished(), prt_1=made))

    assert printed(capsys).splitlines() == shown


def test_a_failure_that_the_end_of_a_pipeline_hides_is_shown(renderer: EventRenderer, capsys: Capture) -> None:
    note = "<shell_metadata>\nexit codes of the last pipeline's programs: 1 | 0\n</shell_metadata>"
    made = call("bash", {"command": "make"}, output=note, metadata={"exit": 0, "pipeline": "1 | 0"})

    renderer.on_event(seen(finished(), prt_1=made))

    assert printed(capsys).splitlines()[0] == "✗ bash  make (exit 1 | 0)"


def test_a_call_that_could_not_be_made_is_named_with_what_is_wrong(renderer: EventRenderer, capsys: Capture) -> None:
    made = call("invalid", {"tool": "fly", "error": "no such tool"}, title="Invalid Tool", output="x")

    renderer.on_event(seen(finished(), prt_1=made))

    assert printed(capsys) == "✗ fly  no such tool (not called)\n"


def test_accepted_trust_is_said_once_and_not_for_subagents(renderer: EventRenderer, capsys: Capture) -> None:
    turn = TurnOpened(
        turn=TURN,
        number=1,
        turn_config=TurnConfigId("cfg_1"),
        agent="build",
        model="a/b",
        trust_record=1,
        accepted_by="ada@here",
        accepted_at=NOON.isoformat(),
    )
    subagent = EventRenderer(TerminalWriter(live=False), now=lambda: NOON, subagent=True)

    for each in (turn, turn, turn.model_copy(update={"trust_record": 2})):
        renderer.on_event(seen(each))
        subagent.on_event(seen(each))

    shown = printed(capsys)
    assert [shown.count(f"(record {number})") for number in (1, 2)] == [1, 1]
