"""The type of a file by its first bytes and its name."""

import re
from pathlib import PurePath
from typing import Final

HEAD_BYTES: Final = 4096  # read for this (opencode.md 7.2)
PDF: Final = "application/pdf"

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
)
_EXTENSIONS: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": PDF,
}
PICTURES: Final = frozenset(_EXTENSIONS.values()) - {PDF}
_BINARY: Final = re.compile(
    r".+\.(zip|tar|gz|exe|dll|so|class|jar|war|7z|docx?|xlsx?|pptx?|od[tsp]|bin|dat|obj|o|a|lib|wasm|py[co])",
    re.IGNORECASE | re.DOTALL,
)
_TEXT_CONTROLS: Final = frozenset(b"\t\n\v\f\r")
_CONTROLS: Final = bytes(byte for byte in range(32) if byte not in _TEXT_CONTROLS)


def media_type(head: bytes, path: PurePath) -> str | None:
    """The type of an image or PDF that a model can view; None for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    signed = next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)
    return signed or _EXTENSIONS.get(path.suffix.lower())


def is_binary(head: bytes, path: PurePath) -> bool:
    """By extension, a NUL byte, or more than 30 % control bytes."""
    if _BINARY.fullmatch(path.name) or b"\0" in head:
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls > 0.3 * len(head)
