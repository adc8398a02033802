"""A turn and its newest answer, as far as a session's events have come."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from worker.opencode.exported_shapes import ExportedMessage
from worker.opencode.shapes import ErrorShape
from worker.opencode.turn_errors import error_of_answer
from worker.stored_contents import StoredCall, StoredMessage, StoredTurn
from workflows.domain.events.asks import AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished, CallPrepared
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import AssistantMessage, CallState, Part, StoredPart, ToolPart
from workflows.domain.views.messages import CallTimes, MessageDetails, StepFailure

CallEvent: TypeAlias = CallPrepared | AskRaised | CallClaimed | CallFinished | TaskStarted
_UNKNOWN: Final = PartId("")  # stands for a call of an answer whose event is still to come


@dataclass
class TurnProgress:
    """`requests`: messages that ask for a summary, or to go on after one. `asked`: whether a person wants one that is
    still to come."""

    id: TurnId
    stored: StoredTurn
    prompts: dict[MessageId, MessageDetails] = field(default_factory=dict)
    requests: list[ExportedMessage] = field(default_factory=list)
    corrections: int | None = None
    asked: bool = False


@dataclass
class AnswerProgress:
    """`since` as in `MessageShapes`."""

    turn: TurnProgress
    step: int
    id: MessageId
    stored: StoredMessage
    texts: list[tuple[PartId, StoredPart]]
    failures: list[StepFailure]
    since: datetime | None
    calls: dict[PartId, StoredCall] = field(default_factory=dict)
    error: ErrorShape | None = None

    @property
    def message(self) -> AssistantMessage:
        calls = {call.position: tool_part(id, call) for id, call in self.calls.items()}
        texts = (part for _, part in self.texts)
        places = range(1 + max(len(self.texts) + self.stored.calls, *calls, 0))
        found = (calls.get(place) or next(texts, None) for place in places)
        parts: tuple[Part, ...] = tuple(part for part in found if part is not None)
        named = {"id": self.id, "turn": self.turn.id, "step": self.step}
        return AssistantMessage(**named, body=self.stored.body, at=self.stored.at, parts=parts)

    @property
    def details(self) -> MessageDetails:
        times = {id: call.times for id, call in self.calls.items()}
        if len(times) < self.stored.calls:
            times[_UNKNOWN] = CallTimes()
        return MessageDetails(
            message=self.message,
            number=self.turn.stored.number,
            opened=self.turn.stored.opened_at,
            text_parts=tuple(id for id, _ in self.texts),
            call_times=times,
        )

    def error_at_end(self, turn: StoredTurn) -> ErrorShape | None:
        """Of its turn, if that has ended so, with this answer."""
        unfinished = turn.unfinished(self.turn.id)
        return None if unfinished is None else error_of_answer(unfinished, self.message, self.turn.corrections)


def call_at(event: CallEvent, call: StoredCall) -> StoredCall:
    """As it was at the event: the row may be further."""
    if isinstance(event, CallFinished):
        return call.model_copy(update={"state": CallState(event.state)})
    times = call.times.model_copy(update={"settled": None, "cleared": None})
    state = CallState.CLAIMED
    if isinstance(event, CallPrepared | AskRaised):
        times = CallTimes(asked=call.times.asked if isinstance(event, AskRaised) else None)
        state = CallState.PREPARED
    return call.model_copy(update={"state": state, "outcome": None, "times": times})


def tool_part(id: PartId, call: StoredCall) -> ToolPart:
    named = {name: getattr(call, name) for name in ("provider_id", "tool", "arguments", "state", "outcome")}
    return ToolPart(id=id, **named)
