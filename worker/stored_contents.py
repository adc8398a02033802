"""An event's contents as values; erased ones are missing."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from pydantic import JsonValue, TypeAdapter

from workflows.domain.call_display import CallDisplay
from workflows.domain.events.waits import WaitBegun
from workflows.domain.messages import Outcome, StoredPart
from workflows.domain.value import Value
from workflows.domain.views.events import EventWithContents
from workflows.domain.waits import FileEvent, WaitKind, WaitSubject

_PART: Final[TypeAdapter[StoredPart]] = TypeAdapter(StoredPart)


class StoredCall(Value):
    """A call and, once ended, its outcome."""

    tool: str
    arguments: dict[str, JsonValue]
    display: CallDisplay = CallDisplay()
    outcome: Outcome | None = None


def stored_call(seen: EventWithContents, name: str) -> StoredCall | None:
    found = seen.contents.get(name)
    return StoredCall.model_validate(found) if found is not None else None


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
