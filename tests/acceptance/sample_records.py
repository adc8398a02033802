"""The records of a faultless trial: one turn, one command that was asked for, allowed and run."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from tests.acceptance.effect_ledger import EffectLine, EffectMoment
from tests.acceptance.recording_client import ClientLedger, RecordedRequest
from tests.acceptance.records import SessionRecords, TrialRecords
from worker.scripted.request_ledger import RequestRecord, StreamEnd
from workflows.domain.actor import Actor
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished, CallPrepared, RecordedDecision
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.prompts import PromptAccepted, PromptTaken
from workflows.domain.events.sessions import SessionCreated
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.ids import AskId, GenerationId, MessageId, PartId, SessionId, TurnConfigId, TurnId, answer_id
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    CallState,
    Message,
    Outcome,
    TextPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.usage import Tokens
from workflows.domain.views.accepted import AcceptedAnswer, AcceptedPrompt, SettledAsk
from workflows.domain.views.sessions import Verification
from workflows.domain.wire import AskState

SESSION: Final = SessionId("ses_1")
PROMPT: Final = MessageId("msg_1")
TURN: Final = TurnId("trn_1")
CALL: Final = PartId("prt_1")
ASK: Final = AskId("per_1")
TOKEN: Final = "one"
BEGUN: Final = datetime(2026, 1, 1, tzinfo=UTC)

_PERSON: Final = Actor(subject="tester@here", method="test")
_SNAPSHOT: Final = TurnConfigId("snp_1")
_TOKENS: Final = Tokens()


def _completed(name: str, step: int, finish: str) -> MessageCompleted:
    generation = GenerationId(f"gen_{name}")
    return MessageCompleted(
        generation=generation,
        message=answer_id(generation),
        turn=TURN,
        step=step,
        finish=finish,
        tokens=_TOKENS,
        cost="0",
    )


LOG: Final[tuple[Event, ...]] = (
    SessionCreated(directory="/project", agent="build"),
    PromptAccepted(prompt=PROMPT, mode="steer", seal="s"),
    TurnOpened(turn=TURN, number=1, turn_config=_SNAPSHOT, agent="build", model="scripted/model"),
    PromptTaken(prompt=PROMPT, turn=TURN, step=1),
    _completed("2", step=1, finish="tool-calls"),
    CallPrepared(call=CALL, turn=TURN, step=1, tool="bash", recovery="re-attachable", seal="s", digest="of the effect"),
    AskRaised(ask=ASK, call=CALL, permissions=("bash",), digest="of the effect"),
    AskAnswered(ask=ASK, call=CALL, reply="once", digest="of the effect"),
    CallClaimed(
        call=CALL,
        fence=(1, 4, 1, 1),
        digest="of the effect",
        turn_config=_SNAPSHOT,
        decisions=(RecordedDecision(permission="bash", by="answer", ask=ASK, author=_PERSON.subject),),
    ),
    CallFinished(call=CALL, state="done", seal="s", digest="of the effect"),
    _completed("3", step=2, finish="stop"),
    TurnEnded(turn=TURN, reason="done"),
)


def at(seconds: float) -> datetime:
    """A moment of the sample; its events are a second apart."""
    return BEGUN + timedelta(seconds=seconds)


def valid_records() -> TrialRecords:
    """Records without violations."""
    return TrialRecords(
        sent=ClientLedger(prompts=[prompted()], answers=[answered()]),
        requests=[request(1, 3.2), request(2, 9.2)],
        effects=[line(EffectMoment.START, 8.3), line(EffectMoment.END, 8.6)],
        sessions=[session()],
        left=(),
        healed=(),
        patience=timedelta(seconds=8),
        wasted=0,
    )


def session(
    log: tuple[Event, ...] = LOG, *, state: CallState = CallState.DONE, resting: bool = True, **changed: Any
) -> SessionRecords:
    """The one session with its call in this state, this log, and other changes."""
    good = SessionRecords(
        session=SESSION,
        log=[_record(seq, event) for seq, event in enumerate(log, 1)],
        verified=Verification(session=SESSION, events=len(log), head="h"),
        transcript=transcript(state),
        runs=[history()],
        resting=resting,
    )
    return replace(good, **changed)


def transcript(state: CallState = CallState.DONE) -> tuple[Message, ...]:
    body = AnswerMetadata(finish="stop", agent="build", model="scripted/model", tokens=_TOKENS, cost="0")
    call = ToolPart(
        id=CALL,
        provider_id="c1",
        tool="bash",
        arguments={"command": f"effect {TOKEN}"},
        state=state,
        outcome=Outcome(output="ran") if state.settled else None,
    )
    return (
        UserMessage(id=PROMPT, turn=TURN, step=1, parts=(TextPart(text="Run it."),), at=at(3)),
        AssistantMessage(id=MessageId("msg_2"), turn=TURN, step=1, body=body, at=at(4), parts=(call,)),
        AssistantMessage(id=MessageId("msg_3"), turn=TURN, step=2, body=body, at=at(10), parts=(TextPart(text="Ok."),)),
    )


def history(*, without: str = "") -> WorkflowHistory:
    """The one run; `without` leaves an activity out."""
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


def request(
    n: int, began: float, *, lasts: float = 0.5, end: StreamEnd = StreamEnd.COMPLETE, messages: str = ""
) -> RequestRecord:
    return RequestRecord(
        n=n,
        attempt=1,
        script="default",
        step=n - 1,
        messages=messages or f"conversation {n}",
        began=at(began),
        ended=at(began + lasts),
        end=end,
        chunks=1,
    )


def line(moment: EffectMoment, seconds: float, token: str = TOKEN) -> EffectLine:
    return EffectLine(moment=moment, token=token, pid=1, at=at(seconds))


def prompted(prompt: MessageId = PROMPT) -> RecordedRequest[AcceptedPrompt]:
    return RecordedRequest(prompt, "Run it.", got=AcceptedPrompt(session=SESSION, prompt=prompt, delivered=True))


def answered(reply: Reply = Reply.ONCE) -> RecordedRequest[AcceptedAnswer]:
    ask = SettledAsk(
        id=ASK,
        session=SESSION,
        turn=TURN,
        call=CALL,
        body=PermissionAsk(requests=(PermissionRequest(permission="bash", patterns=("effect one",)),)),
        digest="of the effect",
        state=AskState.ANSWERED,
        reply=reply,
        feedback=None,
        by_grant=None,
        author=_PERSON.subject,
        asked_at=at(7),
        settled_at=at(8),
    )
    return RecordedRequest(ASK, reply, got=AcceptedAnswer(ask=ask, asks=(ASK,), repeated=False))


def _record(seq: int, event: Event) -> EventRecord:
    return EventRecord(session=SESSION, seq=seq, at=at(seq - 1).isoformat(), actor=_PERSON, event=event)


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
