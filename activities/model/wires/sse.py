"""The JSON objects in a stream of bytes: of server-sent events, or one on each line."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from typing import Any, Final, Protocol

from pydantic_core import from_json

from activities.model.failures import ModelError, ProviderFailure

MAX_EVENT_BYTES: Final = 8 * 2**20  # bytes of one event; a model's longest pieces are a thousandth of it
_BLANK: Final = (b"", b"\r")
_NOTHING: Final = (b"", b"[DONE]")  # an event without data; the end of a stream of OpenAI's chat protocol


class Splitter(Protocol):
    """Finds the events in a stream."""

    def feed(self, received: bytes) -> list[bytes]:
        """The events that these bytes complete. Raises ModelError for one that does not end."""
        ...


async def json_objects(
    provider: str, splitter: Splitter, source: AsyncIterator[bytes]
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """The events' objects, those of each read together, without one that the end of the stream cuts.

    Raises ModelError for what is no JSON object, and for an event that does not end.
    """
    async for received in source:
        objects: list[dict[str, Any]] = []
        try:
            objects.extend(_objects(provider, splitter.feed(received)))
        except ModelError:
            yield objects  # what came before is a part of the answer, which is paid for
            raise
        if objects:
            yield objects


class LineSplitter:
    """Each line is an event."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._begun: list[bytes] = []  # pieces of an unfinished line
        self._length = 0

    def feed(self, received: bytes) -> list[bytes]:
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

    def feed(self, received: bytes) -> list[bytes]:
        events, data = [], self._data
        for line in self._lines.feed(received):
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
    for data in events:
        try:
            content = from_json(data)
        except ValueError:
            if data.strip() in _NOTHING:
                continue
            content = _parse_patiently(data)
        if not isinstance(content, dict):
            message = "The provider sent something that is no piece of an answer"
            sent = data.strip().decode("utf-8", "replace")
            raise ModelError(ProviderFailure(provider=provider, message=message, retryable=True, quote=sent))
        yield content


def _parse_patiently(data: bytes) -> Any:
    """A piece may end within a surrogate pair. None for what is no JSON."""
    try:
        return json.loads(data.decode())
    except ValueError:
        return None
