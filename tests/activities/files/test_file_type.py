"""Images, PDFs and binary data are distinguished from text."""

from pathlib import PurePath

import pytest

from activities.files.file_type import is_binary, media_type


@pytest.mark.parametrize(
    ("head", "name", "media"),
    [
        (b"\x89PNG\r\n\x1a\n...", "photo", "image/png"),
        (b"\xff\xd8\xff\xe0", "photo.txt", "image/jpeg"),
        (b"RIFF\x00\x00\x00\x00WEBP", "x", "image/webp"),
        (b"GIF89a", "x", "image/gif"),
        (b"%PDF-1.4", "x", "application/pdf"),
        (b"anything", "photo.JPG", "image/jpeg"),
        (b"<svg/>", "image.svg", None),
        (b"RIFF\x00\x00\x00\x00WAVE", "sound", None),
    ],
)
def test_media_is_known_by_signature_or_extension(head: bytes, name: str, media: str | None) -> None:
    assert media_type(head, PurePath(name)) == media


@pytest.mark.parametrize(
    ("head", "name", "binary"),
    [
        (b"text", "a.zip", True),
        (b"text", "LIB.SO", True),
        (b"text", ".o", False),
        (b"text", "go.mod", False),
        (b"a\0b", "file", True),
        (b"\x01" * 31 + b"x" * 69, "file", True),
        (b"\x01" * 30 + b"x" * 70, "file", False),
        (b"\t\r\n\x0b\x0c", "file", False),
        ("日本語".encode(), "file", False),
        (b"", "file", False),
    ],
)
def test_binary_data_is_known_by_extension_or_bytes(head: bytes, name: str, binary: bool) -> None:
    assert is_binary(head, PurePath(name)) is binary
