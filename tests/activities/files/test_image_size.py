"""The size of a picture is read from its first bytes."""

import struct

import pytest

from activities.files.image_size import dimensions

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF" + b"\0" * 10 + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", 480, 640) + b"\x03"


@pytest.mark.parametrize(
    "head",
    [
        PNG,
        b"GIF89a" + struct.pack("<HH", 640, 480),
        b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480),
        b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14),
        b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + struct.pack("<I", 639)[:3] + struct.pack("<I", 479)[:3],
        JPEG,
    ],
)
def test_every_image_format_reports_its_size(head: bytes) -> None:
    assert dimensions(head) == (640, 480)


@pytest.mark.parametrize(
    "head", [b"", b"text", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xe0\xff\xff", JPEG[:24]]
)
def test_an_incomplete_image_has_no_size(head: bytes) -> None:
    assert dimensions(head) is None
