"""An event's contents as values; erased ones are missing."""

from typing import Final

from pydantic import JsonValue, TypeAdapter

from workflows.domain.call_display import CallDisplay
from workflows.domain.messages import Outcome, StoredPart
from workflows.domain.value import Value
from workflows.domain.views.events import EventWithContents

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
