"""Server-sent events: the JSON objects in a stream of bytes."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any, Final

from activities.model.failures import ModelError, ProviderFailure

MAX_EVENT_BYTES: Final = 8 * 2**20  # bytes of one event; a model's longest pieces are a thousandth of it
_END: Final = b"[DONE]"  # ends a stream of OpenAI's chat protocol


async def json_objects(provider: str, source: AsyncIterator[bytes]) -> AsyncGenerator[dict[str, Any], None]:
    """The events' objects, without one that the end of the stream cuts.

    Raises ModelError for what is no JSON object, and for an event that does not end.
    """
    splitter = _EventSplitter(provider)
    async for received in source:
        for data in splitter.feed(received):
            if data != _END:
                yield _object(provider, data)


class _EventSplitter:
    """By the specification of server-sent events."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._begun: list[bytes] = []  # pieces of an unfinished line
        self._length = 0
        self._data: list[bytes] = []  # lines of an unfinished event

    def feed(self, received: bytes) -> Iterator[bytes]:
        lines = received.split(b"\n")
        lines[0] = b"".join((*self._begun, lines[0])) if len(lines) > 1 else lines[0]
        if len(lines) > 1:
            self._begun, self._length = [], 0
        self._begun.append(lines.pop())
        self._length += len(self._begun[-1])
        for line in lines:
            yield from self._line(line.removesuffix(b"\r"))
        if self._length + sum(map(len, self._data)) > MAX_EVENT_BYTES:
            raise self._too_long()

    def _line(self, line: bytes) -> Iterator[bytes]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            if len(data) > MAX_EVENT_BYTES:
                raise self._too_long()
            yield data

    def _too_long(self) -> ModelError:
        message = (
            f"The provider sent a line of more than {MAX_EVENT_BYTES // 2**20} MB, which is no piece of an answer."
        )
        return ModelError(ProviderFailure(provider=self._provider, message=message, retryable=False))


def _object(provider: str, data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        message, sent = "The provider sent something that is no piece of an answer", data.decode("utf-8", "replace")
        raise ModelError(ProviderFailure(provider=provider, message=message, retryable=True, quote=sent))
    return content
