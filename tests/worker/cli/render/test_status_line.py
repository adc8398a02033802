"""The status line."""

from datetime import datetime, timedelta

import pytest
from pydantic import JsonValue

from tests.worker.cli.render.test_event_renderer import CALL, NOON, TURN, call, completed, finished, seen, titled
from worker.cli.render.status_line import THINKING, WAITING, StatusLine
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.event import Event
from workflows.domain.events.generations import ModelRetry
from workflows.domain.events.prompts import PromptAccepted, PromptTaken
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import AskId, GenerationId, MessageId, NoteId, PartId, SessionId, TurnConfigId
from workflows.domain.usage import Cost
from workflows.domain.views.events import EventWithContents
from workflows.domain.waits import WaitEnd, WaitKind

OPENED = TurnOpened(turn=TURN, number=1, turn_config=TurnConfigId("cfg_1"), agent="build", model="a/b")
CLAIMED = CallClaimed(call=CALL, fence=(1, 1, 1, 1), turn_config=TurnConfigId("cfg_1"))
ASKED = AskRaised(ask=AskId("per_1"), call=CALL, permissions=("bash",), digest="")
ANSWERED = AskAnswered(ask=AskId("per_1"), call=CALL, reply="once", digest="")
SECOND = PromptAccepted(prompt=MessageId("msg_2"), mode="steer", seal="")


def retry(at: datetime) -> Event:
    note = NoteId("not_1")
    return ModelRetry(
        generation=GenerationId("gen_1"),
        turn=TURN,
        step=1,
        attempt=1,
        kind="429",
        note=note,
        seal="",
        next_at=at.isoformat(),
    )


@pytest.fixture
def status_line() -> StatusLine:
    return StatusLine(SessionId("ses_1"), now=lambda: NOON + timedelta(seconds=72))


def note(status_line: StatusLine, *happened: Event) -> None:
    for event in happened:
        status_line.on_event(seen(event, prt_1=call("bash", {"command": "pytest -q"})))


def line_of(status_line: StatusLine) -> str:
    return status_line.text()[2:]  # behind the sign of life


def test_it_tells_how_long_the_turn_takes_what_it_does_and_what_it_has_cost(status_line: StatusLine) -> None:
    note(status_line, OPENED)
    begun = line_of(status_line)
    note(status_line, completed().model_copy(update={"cost": "0.0123"}), CLAIMED)
    running = line_of(status_line)
    note(status_line, finished())

    assert begun == "1 min 12 s · asks the model"
    assert running == "1 min 12 s · bash pytest -q · tokens unknown · $0.0123"
    assert line_of(status_line) == "1 min 12 s · asks the model · tokens unknown · $0.0123"


def test_it_says_how_long_the_model_thinks(status_line: StatusLine) -> None:
    note(status_line, OPENED)
    status_line.set_activity(WAITING)
    waits = line_of(status_line)
    note(status_line, OPENED)
    status_line.set_activity(THINKING)
    from_the_beginning = line_of(status_line)
    status_line.set_activity("answers")
    status_line.set_activity(THINKING)
    again = line_of(status_line)
    note(status_line, retry(NOON + timedelta(seconds=62)))
    asks = line_of(status_line)
    status_line.set_activity(THINKING)

    assert waits == "1 min 12 s · waits for the answer for 1:12"
    assert from_the_beginning == "1 min 12 s · thinking for 1:12"
    assert again == "1 min 12 s · thinking for 0:00"
    assert asks == "1 min 12 s · asks the model"
    assert line_of(status_line) == "1 min 12 s · thinking for 0:10"


def test_an_answer_beside_the_turn_counts_as_cost_only(status_line: StatusLine) -> None:
    note(status_line, OPENED, retry(NOON + timedelta(seconds=90)), titled().model_copy(update={"cost": "0.25"}))

    assert "waits for the provider" in line_of(status_line)
    assert (status_line.steps, status_line.cost) == (0, Cost.of("0.25"))


def test_the_last_lines_of_a_running_command_are_there_until_it_ends(status_line: StatusLine) -> None:
    note(status_line, OPENED, CLAIMED)
    status_line.set_output(CALL, "pytest -q", "".join(f"line {number}\n" for number in range(9)))
    lines = status_line.output_tail
    status_line.set_output(CALL, "pytest -q", "a\tb\x1b[2J\n1 %\r2 %\r\n\n")
    odd = status_line.output_tail
    running = line_of(status_line)
    note(status_line, finished())

    assert lines == ["line 5", "line 6", "line 7", "line 8"] and odd == ["a       b\\x1b[2J", "2 %"]
    assert "bash pytest -q" in running and status_line.output_tail == []


def test_it_says_that_no_price_is_known_and_what_it_was_at_least(status_line: StatusLine) -> None:
    note(status_line, OPENED, completed().model_copy(update={"cost": None}))
    unknown = line_of(status_line)
    note(status_line, completed().model_copy(update={"cost": "0.5"}))

    assert unknown == "1 min 12 s · asks the model · tokens unknown · price unknown"
    assert line_of(status_line) == "1 min 12 s · asks the model · tokens unknown · at least $0.5000"


def test_each_look_is_another_sign_of_life(status_line: StatusLine) -> None:
    note(status_line, OPENED)

    assert status_line.text()[0] != status_line.text()[0]


def test_it_says_who_is_waited_for(status_line: StatusLine) -> None:
    note(status_line, OPENED, retry(NOON + timedelta(minutes=9)))
    provider = line_of(status_line)
    note(status_line, completed(), ASKED, SECOND)
    person = line_of(status_line)
    note(status_line, ANSWERED)

    assert "waits for the provider until " in provider
    assert "waits for your answer" in person and person.endswith("1 prompt waits behind ask per_1")
    assert "asks the model" in line_of(status_line) and "behind" not in line_of(status_line)


def test_the_line_is_empty_while_there_is_no_work(status_line: StatusLine) -> None:
    note(status_line, OPENED, TurnEnded(turn=TURN, reason="done"))

    assert status_line.text() == "" and status_line.duration == 0.0


def test_what_was_not_seen_from_its_beginning_has_no_figures(status_line: StatusLine) -> None:
    note(status_line, PromptTaken(prompt=MessageId("msg_2"), turn=TURN, step=4), completed())

    assert line_of(status_line) == "asks the model"


def test_it_names_the_wait_of_a_subagent_while_nothing_else_runs(status_line: StatusLine) -> None:
    child, waits = SessionId("ses_2"), PartId("prt_3")
    begun = WaitBegun(call=waits, kind=WaitKind.POKE)
    note(status_line, OPENED, CLAIMED)
    note(status_line, TaskStarted(call=CALL, child=child, prompt=MessageId("msg_3"), agent="general"))
    for event in (CLAIMED.model_copy(update={"call": waits}), begun):
        status_line.on_event(of(child, event, prt_3=call("wait", {"token": "go"})))
    waiting = line_of(status_line)
    note(status_line, SECOND)
    queued = line_of(status_line)
    status_line.on_event(of(child, WaitEnded(call=waits, end=WaitEnd.POKED)))

    assert waiting == "1 min 12 s · a subagent waits for a poke: go" and "behind" not in queued
    assert "waits for a poke" not in line_of(status_line)


def of(session: SessionId, event: Event, **contents: JsonValue) -> EventWithContents:
    told = seen(event, **contents)
    return told.model_copy(update={"record": told.record.model_copy(update={"session": session})})
