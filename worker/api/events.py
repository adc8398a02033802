"""A session's log and its unfinished pieces, as doors read and follow them."""

from pydantic import JsonValue

from workflows.domain.events.event import EventRecord
from workflows.domain.ids import SessionId
from workflows.domain.value import Value


class EventWithContents(Value):
    """An event with the contents it refers to, by id."""

    record: EventRecord
    contents: dict[str, JsonValue]


class PublishedDelta(Value):
    """A piece of an unfinished answer or output. A higher `attempt` replaces the pieces of a lower one: of a session's
    answer also where `source`, its id, is another one."""

    id: int
    source: str
    attempt: str
    body: dict[str, JsonValue]


class Verification(Value):
    """The verification of a session's hash chain; `problem` names the first bad event."""

    session: SessionId
    events: int
    head: str
    problem: str | None = None
