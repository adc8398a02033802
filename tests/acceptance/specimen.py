"""The four records of a trial in which all is well: one turn, one command that was asked for, allowed and run."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from activities.session.answers import Settled
from activities.store.asks import AskRow
from activities.store.events import Verified
from tests.acceptance.door import ClientLedger, Sent
from tests.acceptance.effects import Line, Moment
from tests.acceptance.records import SessionRecords, TrialRecords
from worker.client import Accepted
from worker.scripted.ledger import End, Entry
from workflows.domain import events
from workflows.domain.ids import AskId, MessageId, PartId, SessionId, SnapshotId, TurnId
from workflows.domain.messages import (
    AnswerBody,
    AssistantMessage,
    CallState,
    Outcome,
    TextPart,
    ToolPart,
    Transcript,
    UserMessage,
)
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.usage import Tokens
from workflows.domain.wire import AskState

SESSION: Final = SessionId("ses_1")
PROMPT: Final = MessageId("msg_1")
TURN: Final = TurnId("trn_1")
CALL: Final = PartId("prt_1")
ASK: Final = AskId("per_1")
TOKEN: Final = "one"
BEGUN: Final = datetime(2026, 1, 1, tzinfo=UTC)

_PERSON: Final = events.Actor(subject="tester@here", method="test")
_SNAPSHOT: Final = SnapshotId("snp_1")
_TOKENS: Final = Tokens()

LOG: Final[tuple[events.Event, ...]] = (
    events.SessionCreated(directory="/project", agent="build"),
    events.PromptAccepted(prompt=PROMPT, mode="steer", seal="s"),
    events.TurnOpened(turn=TURN, number=1, snapshot=_SNAPSHOT, agent="build", model="scripted/model"),
    events.PromptTaken(prompt=PROMPT, turn=TURN, step=1),
    events.MessageCompleted(
        message=MessageId("msg_2"), turn=TURN, step=1, finish="tool-calls", tokens=_TOKENS, cost="0"
    ),
    events.CallPrepared(
        call=CALL, turn=TURN, step=1, tool="bash", recovery="re-attachable", seal="s", digest="of the effect"
    ),
    events.AskRaised(ask=ASK, call=CALL, permission="bash", digest="of the effect"),
    events.AskAnswered(ask=ASK, call=CALL, reply="once", digest="of the effect"),
    events.CallClaimed(
        call=CALL,
        fence=(1, 4, 1),
        digest="of the effect",
        snapshot=_SNAPSHOT,
        decisions=(events.Decision(permission="bash", by="answer", ask=ASK, author=_PERSON.subject),),
    ),
    events.CallFinished(call=CALL, state="done", seal="s", digest="of the effect"),
    events.MessageCompleted(message=MessageId("msg_3"), turn=TURN, step=2, finish="stop", tokens=_TOKENS, cost="0"),
    events.TurnEnded(turn=TURN, reason="done"),
)


def at(seconds: float) -> datetime:
    """A moment of the specimen; each event of its log comes a second after the one before."""
    return BEGUN + timedelta(seconds=seconds)


def well() -> TrialRecords:
    """The records in which nothing is violated."""
    return TrialRecords(
        sent=ClientLedger(prompts=[prompted()], answers=[answered()]),
        requests=[request(1, 3.2), request(2, 9.2)],
        effects=[line(Moment.START, 8.3), line(Moment.END, 8.6)],
        sessions=[session()],
        left=(),
        healed=(),
        patience=timedelta(seconds=8),
        wasted=0,
    )


def session(
    log: tuple[events.Event, ...] = LOG, *, state: CallState = CallState.DONE, resting: bool = True, **changed: Any
) -> SessionRecords:
    """The one session, whose call has come to this state; with this log, and with other fields changed."""
    good = SessionRecords(
        session=SESSION,
        log=[_record(seq, event) for seq, event in enumerate(log, 1)],
        verified=Verified(session=SESSION, events=len(log), head="h"),
        transcript=transcript(state),
        runs=[history()],
        resting=resting,
    )
    return replace(good, **changed)


def transcript(state: CallState = CallState.DONE) -> Transcript:
    body = AnswerBody(finish="stop", agent="build", model="scripted/model", tokens=_TOKENS, cost="0")
    call = ToolPart(
        id=CALL,
        provider_id="c1",
        tool="bash",
        arguments={"command": f"effect {TOKEN}"},
        state=state,
        outcome=Outcome(output="ran") if state.settled else None,
    )
    return (
        UserMessage(id=PROMPT, turn=TURN, step=1, text="Run it.", at=at(3)),
        AssistantMessage(id=MessageId("msg_2"), turn=TURN, step=1, body=body, at=at(4), parts=(call,)),
        AssistantMessage(id=MessageId("msg_3"), turn=TURN, step=2, body=body, at=at(10), parts=(TextPart(text="Ok."),)),
    )


def history(*, without: str = "") -> WorkflowHistory:
    """The one run, perhaps without one of its activities."""
    step = {"turn": TURN, "step": 1}
    ran: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...] = (
        ("holdfast.project.load", {"turn": TURN}, {"turn": {"id": TURN}}),
        ("holdfast.model.generate", step, {"finish": "tool-calls"}),
        ("holdfast.asks.open", {"turn": TURN, "call": CALL}, {"state": "open"}),
        ("holdfast.tools.run", {"turn": TURN, "call": CALL}, {"state": "settled"}),
        ("holdfast.model.generate", {**step, "step": 2}, {"finish": "stop"}),
        ("holdfast.turns.close", {"turn": TURN, "reason": "done"}, {}),
    )
    kept = [each for each in ran if each[0] != without]
    listed = [event for number, each in enumerate(kept) for event in _activity(2 * number + 1, *each)]
    return WorkflowHistory(f"session/{SESSION}", listed)


def request(n: int, began: float, *, lasts: float = 0.5, end: End = End.COMPLETE, messages: str = "") -> Entry:
    return Entry(
        n=n,
        asked=1,
        script="default",
        step=n - 1,
        messages=messages or f"conversation {n}",
        began=at(began),
        ended=at(began + lasts),
        end=end,
        chunks=1,
        delivered=end is End.COMPLETE,
    )


def line(moment: Moment, seconds: float, token: str = TOKEN) -> Line:
    return Line(moment=moment, token=token, pid=1, at=at(seconds))


def prompted(prompt: MessageId = PROMPT) -> Sent[Accepted]:
    return Sent(prompt, "Run it.", got=Accepted(session=SESSION, prompt=prompt, rung=True))


def answered(reply: Reply = Reply.ONCE) -> Sent[Settled]:
    row = AskRow(
        id=ASK,
        session=SESSION,
        turn=TURN,
        call=CALL,
        revision=0,
        request=0,
        body=PermissionRequest(permission="bash", patterns=("effect one",)),
        digest="of the effect",
        state=AskState.ANSWERED,
        reply=reply,
        asked_at=at(7),
    )
    return Sent(ASK, reply, got=Settled(ask=row, asks=(ASK,)))


def _record(seq: int, event: events.Event) -> events.Record:
    return events.Record(session=SESSION, seq=seq, at=at(seq - 1).isoformat(), actor=_PERSON, event=event)


def _activity(number: int, name: str, asked: Mapping[str, Any], result: Mapping[str, Any]) -> list[HistoryEvent]:
    scheduled = HistoryEvent(event_id=number, event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    scheduled.activity_task_scheduled_event_attributes.activity_type.name = name
    scheduled.activity_task_scheduled_event_attributes.input.CopyFrom(_payloads(asked))
    completed = HistoryEvent(event_id=number + 1, event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
    completed.activity_task_completed_event_attributes.scheduled_event_id = number
    completed.activity_task_completed_event_attributes.result.CopyFrom(_payloads(result))
    return [scheduled, completed]


def _payloads(value: Mapping[str, Any]) -> Payloads:
    return Payloads(payloads=[Payload(data=json.dumps(value).encode())])
