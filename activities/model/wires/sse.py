"""The JSON objects in a stream of bytes: of server-sent events, or one on each line."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from pydantic_core import from_json

from workflows.domain.errors import ModelError
from workflows.domain.provider_failure import ProviderFailure

MAX_EVENT_BYTES: Final = 8 * 2**20  # bytes of one event; a model's longest pieces are a thousandth of it
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NOTHING: Final = (b"", b"null")  # events without data
_LAST: Final = b"[DONE]"  # the end of a stream of OpenAI's chat protocol
_ERROR: Final = b"error:"  # llama.cpp before its pull request 16109
_FIRST_FIELD: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry|error)?:")
_FIRST_OBJECT: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{.*"done"')  # Ollama's


class Splitter(Protocol):
    """Finds the events in a stream; `ended`: the stream says that nothing more comes."""

    ended: bool

    def feed(self, received: bytes) -> Iterator[dict[str, Any]]:
        """The objects of the events that these bytes complete.

        Raises ModelError for what is no JSON object, and for an event that does not end.
        """
        ...

    def close(self) -> Iterator[dict[str, Any]]:
        """The last event of a stream that has ended without its separator; nothing if the end cuts it."""
        ...

    def recognizes(self, begun: bytes) -> bool:
        """Whether a stream begins so, although it is labelled as a page."""
        ...


class LineSplitter:
    """Each line is an event."""

    def __init__(self, provider: str) -> None:
        self.ended = False
        self._provider = provider
        self._begun: list[bytes] = []  # pieces of an unfinished line
        self._length = 0
        self._first = True  # no line has come

    def feed(self, received: bytes) -> Iterator[dict[str, Any]]:
        return self._objects(self._events(received))

    def close(self) -> Iterator[dict[str, Any]]:
        for data in self._events(b"\n\n"):
            if isinstance(content := _parse(data), dict):
                yield content

    def recognizes(self, begun: bytes) -> bool:
        return _FIRST_OBJECT.match(begun) is not None

    def _events(self, received: bytes) -> list[bytes]:
        return self._lines(received)

    def _lines(self, received: bytes) -> list[bytes]:
        lines, bound = received.split(b"\n"), self._length + len(received)  # no line is longer
        if len(lines) > 1:
            lines[0] = b"".join((*self._begun, lines[0]))
            self._begun, self._length = [], 0
            if self._first:
                lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
                self._first = False
        self._begun.append(lines.pop())
        self._length += len(self._begun[-1])
        if bound > MAX_EVENT_BYTES and max((self._length, *map(len, lines))) > MAX_EVENT_BYTES:
            raise self._too_long()
        return lines

    def _objects(self, events: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        """One at a time: thousands of small objects at once are slow to make."""
        for data in events:
            try:
                content = from_json(data, cache_strings="keys")  # its texts hardly repeat
            except ValueError:
                content = None
            if not isinstance(content, dict):
                if data.strip() == _LAST:
                    self.ended = True
                    return
                content = parse_object(self._provider, data)
            if content is not None:
                yield content

    def _too_long(self) -> ModelError:
        message = (
            f"The provider sent a line of more than {MAX_EVENT_BYTES // 2**20} MB, which is not part of an answer."
        )
        return ModelError(ProviderFailure(provider=self._provider, message=message, retryable=False))


class EventSplitter(LineSplitter):
    """By the specification of server-sent events: lines end with CR, LF or both."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._data: list[bytes] = []  # lines of an unfinished event
        self._returned = False  # the bytes before ended with a CR: an LF that follows belongs to it

    def recognizes(self, begun: bytes) -> bool:
        return _FIRST_FIELD.match(begun) is not None

    def _events(self, received: bytes) -> list[bytes]:
        if self._returned or b"\r" in received:
            received = self._only_lf(received)
        events, data = [], self._data
        bound = sum(map(len, data)) + self._length + len(received)  # no event is longer
        for line in self._lines(received):
            if line.startswith(b"data:"):
                data.append(line)
            elif line.startswith(_ERROR):
                events.append(b'{"error":%b}' % line.removeprefix(_ERROR))
            elif data and not line:
                # the rest of its lines is white space
                events.append(data[0][5:] if len(data) == 1 else b"\n".join(each[5:] for each in data))
                data.clear()
        if bound > MAX_EVENT_BYTES and max((sum(map(len, data)), *map(len, events))) > MAX_EVENT_BYTES:
            raise self._too_long()
        return events

    def _only_lf(self, received: bytes) -> bytes:
        if self._returned:
            received = received.removeprefix(b"\n")
        self._returned = received.endswith(b"\r")
        return received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def parse_object(provider: str, data: bytes) -> dict[str, Any] | None:
    """An event's object; None for an empty event. Raises ModelError for anything else."""
    content = _parse(data)
    if isinstance(content, list) and len(content) == 1:  # Vertex AI's form of an error
        content = content[0]
    if isinstance(content, dict):
        return content
    if (sent := data.strip()) in _NOTHING:
        return None
    message, quote = "The provider sent something that is not part of an answer", sent.decode("utf-8", "replace")
    raise ModelError(ProviderFailure(provider=provider, message=message, retryable=True, quote=quote))


def _parse(data: bytes) -> Any:
    """None if it is not JSON."""
    try:
        return from_json(data)
    except ValueError:
        return _parse_patiently(data)


def _parse_patiently(data: bytes) -> Any:
    """A piece may end within a surrogate pair."""
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        return None
