"""An event's contents as values; erased ones are missing."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from pydantic import JsonValue, TypeAdapter

from activities.store.transcript import REMINDERS, user_message
from workflows.domain.call_display import CallDisplay
from workflows.domain.close_reason import CloseReason
from workflows.domain.events.waits import WaitBegun
from workflows.domain.ids import GenerationId, MessageId, TurnId
from workflows.domain.messages import AnswerMetadata, CallState, Outcome, Reminder, StoredPart
from workflows.domain.provider_failure import FinalFailure
from workflows.domain.value import Value
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.messages import CallTimes, MessageDetails
from workflows.domain.views.sessions import UnfinishedTurn
from workflows.domain.waits import FileEvent, WaitKind, WaitSubject

_PART: Final[TypeAdapter[StoredPart]] = TypeAdapter(StoredPart)


class StoredCall(Value):
    """A call and, once ended, its outcome; its place in its `message`, and in that of the prompt that has it."""

    tool: str
    arguments: dict[str, JsonValue]
    display: CallDisplay = CallDisplay()
    outcome: Outcome | None = None
    message: MessageId = MessageId("")
    position: int = 0
    provider_id: str = ""
    ordered_by: MessageId | None = None
    ordered_part: int | None = None
    state: CallState = CallState.PREPARED
    times: CallTimes = CallTimes()


class StoredMessage(Value):
    """An answer without its parts; `calls`: how many of them it has."""

    body: AnswerMetadata
    at: datetime
    begun_at: datetime
    calls: int


class StoredTurn(Value):
    """As far as it is known now."""

    number: int
    agent: str
    model: str
    step: int
    reason: str | None
    error: str | None
    failure: FinalFailure | None
    opened_at: datetime
    ended_at: datetime | None

    def unfinished(self, id: TurnId) -> UnfinishedTurn | None:
        """If it ended before its work was done."""
        done = self.reason not in (CloseReason.FAILED, CloseReason.STOPPED, CloseReason.ENDED)
        return None if done else UnfinishedTurn(id=id, **dict(self))


def stored_call(seen: EventWithContents, name: str) -> StoredCall | None:
    found = seen.contents.get(name)
    return StoredCall.model_validate(found) if found is not None else None


def stored_message(seen: EventWithContents, name: str) -> StoredMessage | None:
    found = seen.contents.get(name)
    return StoredMessage.model_validate(found) if found is not None else None


def stored_turn(seen: EventWithContents, name: str) -> StoredTurn | None:
    found = seen.contents.get(name)
    return StoredTurn.model_validate(found) if found is not None else None


def prompt_of(seen: EventWithContents, id: MessageId) -> MessageDetails | None:
    """A prompt as a message; which turn takes it is not among its contents."""
    row, turn = seen.contents.get(f"{id}/work"), {"turn": "", "number": 0}
    if not isinstance(row, dict):
        return None
    message = user_message({"id": id, "body": seen.contents.get(id) or {"parts": []}, **turn, **row})
    return MessageDetails(message=message, number=0, opened=message.at, variant=row["variant"])


def reminders_of(seen: EventWithContents, generation: GenerationId) -> tuple[Reminder, ...]:
    return REMINDERS.validate_python(seen.contents.get(generation) or ())


def note_of(seen: EventWithContents, name: str) -> str:
    return str(seen.contents.get(name, "(deleted)"))


def part_of(seen: EventWithContents, name: str) -> StoredPart | None:
    found = seen.contents.get(name)
    return _PART.validate_python(found) if found is not None else None


def begun_wait(seen: EventWithContents, event: WaitBegun) -> tuple[WaitSubject, datetime | None]:
    """What a call waits for, and its moment or the latest one."""
    call = stored_call(seen, event.call)
    arguments: Mapping[str, JsonValue] = call.arguments if call is not None else {}
    name = arguments.get("file") or arguments.get("token") or ("" if event.kind is WaitKind.TIME else "(erased)")
    subject = WaitSubject(kind=event.kind, name=str(name), event=FileEvent(str(arguments.get("event", FileEvent.ANY))))
    return subject, datetime.fromisoformat(event.until) if event.until else None
