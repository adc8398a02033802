"""The line that says what goes on just now."""

from datetime import datetime, timedelta

import pytest

from tests.worker.cli.look.test_story import CALL, NOON, TURN, call, completed, finished, seen
from worker.cli.look.gauge import Gauge
from workflows.domain import events
from workflows.domain.events import Event
from workflows.domain.ids import AskId, MessageId, NoteId, SessionId, SnapshotId

OPENED = events.TurnOpened(turn=TURN, number=1, snapshot=SnapshotId("cfg_1"), agent="build", model="a/b")
CLAIMED = events.CallClaimed(call=CALL, fence=(1, 1, 1), snapshot=SnapshotId("cfg_1"))
ASKED = events.AskRaised(ask=AskId("per_1"), call=CALL, permission="bash", digest="")
ANSWERED = events.AskAnswered(ask=AskId("per_1"), call=CALL, reply="once", digest="")
SECOND = events.PromptAccepted(prompt=MessageId("msg_2"), mode="steer", seal="")


def retry(at: datetime) -> Event:
    note = NoteId("not_1")
    return events.ModelRetry(turn=TURN, step=1, attempt=1, kind="429", note=note, seal="", next_at=at.isoformat())


@pytest.fixture
def gauge() -> Gauge:
    return Gauge(SessionId("ses_1"), now=lambda: NOON + timedelta(seconds=72))


def note(gauge: Gauge, *happened: Event) -> None:
    for event in happened:
        gauge.note(seen(event, prt_1=call("bash", {"command": "pytest -q"})))


def told(gauge: Gauge) -> str:
    return gauge.told()[2:]  # behind the sign of life


def test_it_tells_how_long_the_turn_takes_what_it_does_and_what_it_has_cost(gauge: Gauge) -> None:
    note(gauge, OPENED)
    begun = told(gauge)
    note(gauge, completed().model_copy(update={"cost": "0.0123"}), CLAIMED)
    running = told(gauge)
    note(gauge, finished())

    assert begun == "1 min 12 s · asks the model"
    assert running == "1 min 12 s · bash pytest -q · tokens unknown · $0.0123"
    assert told(gauge) == "1 min 12 s · asks the model · tokens unknown · $0.0123"


def test_the_last_lines_of_a_running_command_are_there_until_it_ends(gauge: Gauge) -> None:
    note(gauge, OPENED, CLAIMED)
    gauge.writes(CALL, "pytest -q", "".join(f"line {number}\n" for number in range(9)))
    lines = gauge.tail
    gauge.writes(CALL, "pytest -q", "a\tb\x1b[2J\n1 %\r2 %\r\n\n")
    odd = gauge.tail
    running = told(gauge)
    note(gauge, finished())

    assert lines == ["line 5", "line 6", "line 7", "line 8"] and odd == ["a       b\\x1b[2J", "2 %"]
    assert "bash pytest -q" in running and gauge.tail == []


def test_it_says_that_no_price_is_known_and_what_it_was_at_least(gauge: Gauge) -> None:
    note(gauge, OPENED, completed().model_copy(update={"cost": None}))
    unknown = told(gauge)
    note(gauge, completed().model_copy(update={"cost": "0.5"}))

    assert unknown == "1 min 12 s · asks the model · tokens unknown · price unknown"
    assert told(gauge) == "1 min 12 s · asks the model · tokens unknown · at least $0.5000"


def test_each_look_is_another_sign_of_life(gauge: Gauge) -> None:
    note(gauge, OPENED)

    assert gauge.told()[0] != gauge.told()[0]


def test_it_says_who_is_waited_for(gauge: Gauge) -> None:
    note(gauge, OPENED, retry(NOON + timedelta(minutes=9)))
    provider = told(gauge)
    note(gauge, completed(), ASKED, SECOND)
    person = told(gauge)
    note(gauge, ANSWERED)

    assert "waits for the provider until " in provider
    assert "waits for your answer" in person and person.endswith("1 prompt waits behind ask per_1")
    assert "asks the model" in told(gauge) and "behind" not in told(gauge)


def test_nothing_is_said_while_nobody_works(gauge: Gauge) -> None:
    note(gauge, OPENED, events.TurnEnded(turn=TURN, reason="done"))

    assert gauge.told() == "" and gauge.lasted == 0.0


def test_what_was_not_seen_from_its_beginning_has_no_figures(gauge: Gauge) -> None:
    note(gauge, events.PromptTaken(prompt=MessageId("msg_2"), turn=TURN, step=4), completed())

    assert told(gauge) == "asks the model"
