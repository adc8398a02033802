"""The JSON objects in a stream of bytes: of server-sent events, or one on each line."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from pydantic_core import from_json

from activities.model.failures import ModelError, ProviderFailure

MAX_EVENT_BYTES: Final = 8 * 2**20  # bytes of one event; a model's longest pieces are a thousandth of it
_BLANK: Final = (b"", b"\r")
_NOTHING: Final = (b"", b"[DONE]")  # an event without data; the end of a stream of OpenAI's chat protocol


class Splitter(Protocol):
    """Finds the events in a stream, without one that the end of the stream cuts."""

    def feed(self, received: bytes) -> Iterator[dict[str, Any]]:
        """The objects of the events that these bytes complete.

        Raises ModelError for what is no JSON object, and for an event that does not end.
        """
        ...


class LineSplitter:
    """Each line is an event."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._begun: list[bytes] = []  # pieces of an unfinished line
        self._length = 0

    def feed(self, received: bytes) -> Iterator[dict[str, Any]]:
        return _objects(self._provider, self.lines(received))

    def lines(self, received: bytes) -> list[bytes]:
        lines = received.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join((*self._begun, lines[0]))
            self._begun, self._length = [], 0
        self._begun.append(lines.pop())
        self._length += len(self._begun[-1])
        if max(self._length, max(map(len, lines), default=0)) > MAX_EVENT_BYTES:
            raise _too_long(self._provider)
        return lines


class EventSplitter:
    """By the specification of server-sent events."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._lines = LineSplitter(provider)
        self._data: list[bytes] = []  # lines of an unfinished event

    def feed(self, received: bytes) -> Iterator[dict[str, Any]]:
        return _objects(self._provider, self._events(received))

    def _events(self, received: bytes) -> list[bytes]:
        events, data = [], self._data
        for line in self._lines.lines(received):
            if line.startswith(b"data:"):
                data.append(line)
            elif data and line in _BLANK:
                # the rest of its lines is white space
                events.append(data[0][5:] if len(data) == 1 else b"\n".join(each[5:] for each in data))
                data.clear()
        if max(sum(map(len, self._data)), max(map(len, events), default=0)) > MAX_EVENT_BYTES:
            raise _too_long(self._provider)
        return events


def _too_long(provider: str) -> ModelError:
    message = f"The provider sent a line of more than {MAX_EVENT_BYTES // 2**20} MB, which is no piece of an answer."
    return ModelError(ProviderFailure(provider=provider, message=message, retryable=False))


def _objects(provider: str, events: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """One at a time: thousands of small objects at once are slow to make."""
    for data in events:
        if (content := parse_object(provider, data)) is not None:
            yield content


def parse_object(provider: str, data: bytes) -> dict[str, Any] | None:
    """An event's object; None for one that says nothing. Raises ModelError for any other."""
    try:
        content = from_json(data)
    except ValueError:
        if data.strip() in _NOTHING:
            return None
        content = _parse_patiently(data)
    if isinstance(content, list) and len(content) == 1:  # Vertex AI's form of an error
        content = content[0]
    if not isinstance(content, dict):
        message = "The provider sent something that is no piece of an answer"
        sent = data.strip().decode("utf-8", "replace")
        raise ModelError(ProviderFailure(provider=provider, message=message, retryable=True, quote=sent))
    return content


def _parse_patiently(data: bytes) -> Any:
    """A piece may end within a surrogate pair. None for what is no JSON."""
    try:
        return json.loads(data.decode())
    except ValueError:
        return None
