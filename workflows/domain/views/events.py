"""A session's log, as doors read and follow it."""

from pydantic import JsonValue

from workflows.domain.events.event import EventRecord
from workflows.domain.value import Value


class EventWithContents(Value):
    """An event with the contents it refers to, by id."""

    record: EventRecord
    contents: dict[str, JsonValue]
