"""Frames of AWS's event streams (`application/vnd.amazon.eventstream`).

Each: the lengths of the whole and of the headers with a checksum, the headers, the payload, and a checksum of it all.
"""

import json
from struct import pack
from typing import Any, Final
from zlib import crc32

KIND: Final = "application/vnd.amazon.eventstream"
_TEXT: Final = 7  # the type of a header's value
_AROUND: Final = 16  # bytes: two lengths and two checksums


def event_frame(name: str, payload: dict[str, Any]) -> bytes:
    return _frame({":event-type": name, ":content-type": "application/json", ":message-type": "event"}, payload)


def exception_frame(name: str, payload: dict[str, Any]) -> bytes:
    """A failure within a stream; the service closes the connection behind it."""
    return _frame({":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}, payload)


def _frame(headers: dict[str, str], payload: dict[str, Any]) -> bytes:
    head = b"".join(text_header(name, value) for name, value in headers.items())
    return frame_of(head, json.dumps(payload, ensure_ascii=False).encode())


def frame_of(head: bytes, body: bytes) -> bytes:
    lengths = pack("!II", len(head) + len(body) + _AROUND, len(head))
    message = lengths + pack("!I", crc32(lengths)) + head + body
    return message + pack("!I", crc32(message))


def text_header(name: str, value: str) -> bytes:
    return pack("!B", len(name)) + name.encode() + pack("!BH", _TEXT, len(value)) + value.encode()
