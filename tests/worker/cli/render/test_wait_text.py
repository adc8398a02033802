"""Waits on purpose, in words."""

from datetime import timedelta

import pytest
from pydantic import JsonValue

from tests.worker.cli.render.test_event_renderer import CALL, NOON, TURN, seen
from worker.cli.render.event_sentences import wait_sentence
from worker.cli.render.session_status import describe_wait
from worker.cli.render.status_line import StatusLine
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.turns import TurnOpened
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import MessageId, NoteId, SessionId, TurnConfigId
from workflows.domain.waits import FileEvent, WaitEnd, WaitKind, WaitSubject

HOUR = NOON + timedelta(hours=1)
CLOCK = f"{HOUR.astimezone():%H:%M}"


def wait(**arguments: JsonValue) -> JsonValue:
    return {"tool": "wait", "arguments": arguments, "display": {"kind": "wait", "verb": "wait"}, "outcome": None}


@pytest.mark.parametrize(
    ("subject", "until", "text"),
    [
        (WaitSubject(kind=WaitKind.TIME), HOUR, f"waits until {CLOCK}"),
        (WaitSubject(kind=WaitKind.FILE, name="a.txt"), None, "waits for a change of a.txt"),
        (WaitSubject(kind=WaitKind.FILE, name="a\x1b", event=FileEvent.CREATED), None, "waits for the file a\\x1b"),
        (WaitSubject(kind=WaitKind.POKE, name="x"), HOUR, f"waits for a poke: x, until {CLOCK} at most"),
    ],
)
def test_a_wait_in_words(subject: WaitSubject, until: object, text: str) -> None:
    assert describe_wait(subject, HOUR if until else None, NOON) == text


def test_the_log_says_how_to_poke_and_who_has() -> None:
    begun = WaitBegun(call=CALL, kind=WaitKind.POKE)
    note = NoteId("prt_1/poke")
    poked = WaitEnded(call=CALL, end=WaitEnd.POKED, note=note, seal="")
    assert wait_sentence(begun, seen(begun, prt_1=wait(token="go"))) == (
        "  waits for a poke: go (holdfast poke go)",
        None,
    )
    told = seen(poked, **{note: "v2\nis live"})
    assert wait_sentence(poked, told) == ("  poked by ada@here: v2 is live", None)
    came = WaitEnded(call=CALL, end=WaitEnd.CAME)
    assert wait_sentence(came, seen(came)) is None


def test_the_status_line_says_what_is_waited_for_and_what_waits_behind_it() -> None:
    line = StatusLine(SessionId("ses_1"), now=lambda: NOON)
    opened = TurnOpened(turn=TURN, number=1, turn_config=TurnConfigId("cfg_1"), agent="build", model="a/b")
    claimed = CallClaimed(call=CALL, fence=(1, 1, 1, 1), turn_config=TurnConfigId("cfg_1"))
    for event in (opened, claimed, WaitBegun(call=CALL, kind=WaitKind.TIME, until=HOUR.isoformat())):
        line.on_event(seen(event, prt_1=wait(until="1h")))
    alone = line.text()
    line.on_event(seen(PromptAccepted(prompt=MessageId("msg_2"), mode="steer", seal="")))
    assert f"waits until {CLOCK}" in alone
    assert line.text().endswith("1 prompt waits for its end: holdfast wake ses_1")
