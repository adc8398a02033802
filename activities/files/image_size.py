"""The size of an image, from its first bytes (Pillow wants all of a WebP), and what providers take."""

import base64
import binascii
import re
from typing import Final, NamedTuple

MAX_PICTURE_CHARS: Final = 5 * 1024 * 1024  # characters of a picture in base64 (opencode.md 5.1)
MAX_PICTURE_BYTES: Final = MAX_PICTURE_CHARS * 3 // 4
MAX_PICTURE_SIDE: Final = 8000  # pixels on a side: providers refuse more, again in each further request
MAX_SIDE: Final = 2000  # the same for requests of more than 20 pictures (Anthropic, "Vision"; opencode.md 5.1)
_MAX_PIXELS: Final = 50_000_000  # of what is decoded: 0.8 GB for a WebP, and a small file may claim any number
_HEAD: Final = 128 * 1024  # characters decoded to find its size
_FRAME: Final = re.compile(rb"\xff[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf]")  # the start of a JPEG frame


class SmallerCopy(NamedTuple):
    """`note`: what models are told of it."""

    content: bytes
    mime: str
    note: str


def encoded_dimensions(content: str) -> tuple[int, int] | None:
    """Width and height of a picture in base64."""
    head = content[:_HEAD]
    try:
        return dimensions(base64.b64decode(head[: len(head) // 4 * 4]))
    except (binascii.Error, ValueError):
        return None


def smaller_copy(content: bytes) -> SmallerCopy | None:
    """None for a picture that each provider takes as it is. Blocks. Raises ValueError with the reason."""
    size = dimensions(content[:_HEAD])
    if max(size or (0,)) <= MAX_SIDE and len(content) <= MAX_PICTURE_BYTES:
        return None
    if size and size[0] * size[1] > _MAX_PIXELS:
        raise ValueError(f"it has {size[0]}×{size[1]} pixels; a smaller copy is made of {_MAX_PIXELS:,} at most")
    from activities.files.smaller_picture import shrink  # start-up time: few need Pillow

    return shrink(content)


def dimensions(head: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, WebP or JPEG; None for anything else or too few bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return _nonzero_size(_number(head[16:20], "big"), _number(head[20:24], "big"))
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return _nonzero_size(_number(head[6:8], "little"), _number(head[8:10], "little"))
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    return _jpeg(head) if head.startswith(b"\xff\xd8\xff") else None


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8 ":
            return _nonzero_size(_number(head[26:28], "little") & 0x3FFF, _number(head[28:30], "little") & 0x3FFF)
        case b"VP8L":
            bits = _number(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _number(head[24:27], "little") + 1, _number(head[27:30], "little") + 1
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    # Segment by segment up to the frame, which holds the size.
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if _FRAME.match(head, at):
            return _nonzero_size(_number(head[at + 7 : at + 9], "big"), _number(head[at + 5 : at + 7], "big"))
        at += 2 + _number(head[at + 2 : at + 4], "big")
    return None


def _nonzero_size(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if width and height else None


def _number(raw: bytes, order: str) -> int:
    return int.from_bytes(raw, "big" if order == "big" else "little")
