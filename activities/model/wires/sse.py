"""Server-sent events: the JSON objects in a stream of bytes."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final

from activities.model.failures import ModelError, ProviderFailure

MAX_EVENT_BYTES: Final = 8 * 2**20  # bytes of one event; a model's longest pieces are a thousandth of it
_BLANK: Final = (b"", b"\r")
_END: Final = b"[DONE]"  # ends a stream of OpenAI's chat protocol


async def json_objects(provider: str, source: AsyncIterator[bytes]) -> AsyncGenerator[list[dict[str, Any]], None]:
    """The events' objects, those of each read together, without one that the end of the stream cuts.

    Raises ModelError for what is no JSON object, and for an event that does not end.
    """
    splitter = _EventSplitter(provider)
    async for received in source:
        objects: list[dict[str, Any]] = []
        try:
            objects.extend(_object(provider, data) for data in splitter.feed(received) if data != _END)
        except ModelError:
            yield objects  # what came before is a part of the answer, which is paid for
            raise
        if objects:
            yield objects


class _EventSplitter:
    """By the specification of server-sent events."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._begun: list[bytes] = []  # pieces of an unfinished line
        self._length = 0
        self._data: list[bytes] = []  # lines of an unfinished event

    def feed(self, received: bytes) -> list[bytes]:
        """The events that these bytes complete."""
        lines = received.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join((*self._begun, lines[0]))
            self._begun, self._length = [], 0
        self._begun.append(lines.pop())
        self._length += len(self._begun[-1])
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line.removesuffix(b"\r")[5:].removeprefix(b" "))
            elif self._data and line in _BLANK:
                events.append(b"\n".join(self._data))
                self._data.clear()
        if (
            self._length + sum(map(len, self._data)) > MAX_EVENT_BYTES
            or max(map(len, events), default=0) > MAX_EVENT_BYTES
        ):
            raise self._too_long()
        return events

    def _too_long(self) -> ModelError:
        message = (
            f"The provider sent a line of more than {MAX_EVENT_BYTES // 2**20} MB, which is no piece of an answer."
        )
        return ModelError(ProviderFailure(provider=self._provider, message=message, retryable=False))


def _object(provider: str, data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data.decode())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        message, sent = "The provider sent something that is no piece of an answer", data.decode("utf-8", "replace")
        raise ModelError(ProviderFailure(provider=provider, message=message, retryable=True, quote=sent))
    return content
