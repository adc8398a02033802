"""Unfinished pieces, as doors follow them."""

from pydantic import JsonValue

from workflows.domain.value import Value


class PublishedDelta(Value):
    """A piece of an unfinished answer or output. A higher `attempt` replaces the pieces of a lower one: of a session's
    answer also where `source`, its id, is another one."""

    id: int
    source: str
    attempt: str
    body: dict[str, JsonValue]
