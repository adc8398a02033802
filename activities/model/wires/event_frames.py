"""AWS's event streams: each frame as an object with one member, as in the service's model.

A frame: the lengths of the whole and of the headers with their checksum, the headers, the payload, and a checksum of it
all. botocore reads them too, in five times as long.
"""

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import Any, Final
from zlib import crc32

from activities.model.wires.sse import MAX_EVENT_BYTES, parse_object
from workflows.domain.errors import ModelError
from workflows.domain.provider_failure import ProviderFailure

_PRELUDE: Final = Struct("!III")
_LENGTH: Final = Struct("!H")
_CHECKSUM: Final = Struct("!I")
_AROUND: Final = _PRELUDE.size + _CHECKSUM.size  # bytes of a frame that are neither headers nor payload
_TEXT: Final = 7
_MEASURED: Final = (6, _TEXT)  # types of values whose length stands before them: bytes, text
_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # of the others: truths, numbers, times, UUIDs


class FrameSplitter:
    """See `Splitter`; `feed` raises ModelError for bytes that are no frame, too."""

    def __init__(self, provider: str) -> None:
        self.ended = False
        self._provider = provider
        self._begun = b""  # an unfinished frame
        self._headers: dict[bytes, dict[str, str]] = {}  # those of each kind of event are the same

    def feed(self, received: bytes) -> Iterator[dict[str, Any]]:
        data, start = self._begun + received, 0
        while (end := self._end(data, start)) <= len(data):
            payload_start = start + _PRELUDE.size + _PRELUDE.unpack_from(data, start)[1]
            payload_end = end - _CHECKSUM.size
            if crc32(data[start:payload_end]) != _CHECKSUM.unpack_from(data, payload_end)[0]:
                raise self._no_frame()
            headers = self._parse(data[start + _PRELUDE.size : payload_start])
            yield _event(headers, parse_object(self._provider, data[payload_start:payload_end]) or {})
            start = end
        self._begun = data[start:]

    def close(self) -> Iterator[dict[str, Any]]:
        """Nothing: a frame says its length."""
        return iter(())

    def recognizes(self, begun: bytes) -> bool:
        return False  # its first bytes are a length, and its service names the type

    def _end(self, data: bytes, start: int) -> int:
        """The end of the frame that begins there; of one whose length has not come, the least it can be."""
        if len(data) - start < _PRELUDE.size:
            return start + _AROUND
        length, head, checksum = _PRELUDE.unpack_from(data, start)
        if crc32(data[start : start + 8]) != checksum or not head + _AROUND <= length <= MAX_EVENT_BYTES:
            raise self._no_frame()
        end: int = start + length
        return end

    def _parse(self, head: bytes) -> dict[str, str]:
        if head not in self._headers:
            try:
                self._headers[head] = dict(_texts(head))
            except (LookupError, StructError, UnicodeDecodeError):
                raise self._no_frame() from None
        return self._headers[head]

    def _no_frame(self) -> ModelError:
        message = "The provider sent something that is not part of an answer (Checksum or length of a frame is wrong)"
        return ModelError(ProviderFailure(provider=self._provider, message=message, retryable=True, begun=True))


def _texts(head: bytes) -> Iterator[tuple[str, str]]:
    """The headers whose values are texts."""
    place = 0
    while place < len(head):
        behind_name = place + 1 + head[place]
        kind, value = head[behind_name], behind_name + 1
        if kind in _MEASURED:
            size, value = _LENGTH.unpack_from(head, value)[0], value + _LENGTH.size
        else:
            size = _SIZES[kind]
        if kind == _TEXT:
            yield head[place + 1 : behind_name].decode(), head[value : value + size].decode()
        place = value + size


def _event(headers: dict[str, str], content: dict[str, Any]) -> dict[str, Any]:
    if name := headers.get(":event-type"):
        return {name: content}
    code = headers.get(":exception-type") or headers.get(":error-code") or ""
    details = {"code": f"{code[:1].upper()}{code[1:]}", "message": headers.get(":error-message")}
    return {"failure": (details, content)}  # our name
