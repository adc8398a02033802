"""A session's events as JSON lines."""

from itertools import pairwise

from pydantic import JsonValue

from tests.worker.cli.render.test_event_renderer import NOON, seen
from worker.opencode.event_lines import EventLines
from workflows.domain.events.generations import MessageCompleted, PartSeal
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import GenerationId, MessageId, PartId, SessionId, TurnId
from workflows.domain.usage import Tokens

TURN = TurnId("trn_1")
AT = NOON.isoformat()
OPEN: JsonValue = {
    **{"number": 1, "agent": "build", "model": "p/m", "step": 1, "opened_at": AT},
    **{"reason": None, "error": None, "failure": None, "ended_at": None},
}
ANSWER: JsonValue = {
    "body": {"finish": "stop", "agent": "build", "model": "p/m", "tokens": {}, "cost": "0"},
    **{"at": AT, "begun_at": AT, "calls": 0},
}


def completed(moment: str) -> MessageCompleted:
    tail = f"{moment:0>12}AAAAAAAAAAAAAA"
    return MessageCompleted(
        generation=GenerationId(f"gen_{tail}"),
        message=MessageId(f"msg_{tail}"),
        turn=TURN,
        step=1,
        finish="stop",
        tokens=Tokens(),
        cost="0",
        parts=(PartSeal(part=PartId(f"prt_{tail[:-1]}B"), kind="text", seal=""),),
    )


def told(event: MessageCompleted | TurnEnded) -> dict[str, JsonValue]:
    return {TURN: OPEN, **({event.message: ANSWER} if isinstance(event, MessageCompleted) else {})}


def test_each_step_has_an_end_of_its_own_though_the_clock_was_set_back() -> None:
    lines = EventLines()
    events = (completed("9"), completed("3"), TurnEnded(turn=TURN, reason="done"))
    shown = [line for event in events for line in lines.of_event(seen(event, **told(event))) if line.part is not None]
    ends = [line.part for line in shown if line.type == "step_finish" and line.part is not None]
    assert [end.message_id[4:16] for end in ends] == ["000000000009", "000000000003"]
    assert all(one.id != two.id and one.id > two.id for one, two in pairwise(ends))


def test_a_task_in_the_background_has_lines_for_its_begin_and_its_end() -> None:
    lines, call, child = EventLines(), PartId("prt_1"), SessionId("ses_2")
    begun = TaskStarted(call=call, child=child, prompt=MessageId("msg_1"), agent="explore", background=True)
    told = PromptAccepted(prompt=MessageId("msg_2"), mode="steer", seal="", task=call)
    person = PromptAccepted(prompt=MessageId("msg_3"), mode="steer", seal="")

    shown = [(line.type, line.task) for event in (begun, told, person) for line in lines.of_event(seen(event))]

    task = {"call": call, "agent": "explore", "background": True, "sessionID": child}
    assert shown == [("task_started", task), ("task_ended", {"call": call})]


def test_a_slash_command_has_a_line_as_opencodes_event() -> None:
    told = PromptAccepted(prompt=MessageId("msg_1"), mode="queue", seal="", command="review", template="0")
    used: JsonValue = {"name": "review", "arguments": "HEAD~3", "template": "0"}

    (line,) = EventLines().of_event(seen(told, msg_1={"parts": [], "command": used}))
    (deleted,) = EventLines().of_event(seen(told))

    executed = {"name": "review", "arguments": "HEAD~3", "messageID": "msg_1"}
    assert (line.type, line.command) == ("command", executed) and deleted.command == executed | {"arguments": ""}
