"""Which pictures and documents of a call a model is shown, and why not the rest."""

import base64
import binascii
from typing import Final

from pydantic import JsonValue

from activities.files.file_type import PDF
from activities.files.image_size import dimensions
from activities.model.port import FilePiece, ImagePiece, ModelFacts
from workflows.domain.messages import ToolPart

MAX_PICTURE_CHARS: Final = 5 * 1024 * 1024  # characters of a picture in base64 (opencode.md 5.1)
MAX_PICTURE_SIDE: Final = 8000  # pixels on a side: providers refuse more, again in each further request
_HEAD: Final = 128 * 1024  # characters decoded to find its size


def select_attachments(call: ToolPart, facts: ModelFacts) -> tuple[list[ImagePiece | FilePiece], list[str]]:
    pieces: list[ImagePiece | FilePiece] = []
    reasons: list[str] = []
    for number, attachment in enumerate(call.outcome.attachments if call.outcome else (), 1):
        piece = _piece(attachment, f"{call.id}-{number}", facts)
        if isinstance(piece, str):
            reasons.append(piece)
        else:
            pieces.append(piece)
    return pieces, reasons


def _piece(attachment: dict[str, JsonValue], name: str, facts: ModelFacts) -> ImagePiece | FilePiece | str:
    mime, url = str(attachment.get("mime")), str(attachment.get("url"))
    if mime == PDF:
        return FilePiece(name=f"{name}.pdf", url=url) if facts.documents else "this model cannot read PDF files"
    if not facts.images:
        return "this model cannot see pictures"
    content = url.partition(",")[2]
    size = _dimensions(content[:_HEAD])
    if size is None:
        return "it is no picture that can be shown"
    if max(size) > MAX_PICTURE_SIDE or len(content) > MAX_PICTURE_CHARS:
        return f"it is too large ({size[0]}×{size[1]} pixels, {len(content) * 3 // 4:,} bytes): make a smaller copy"
    return ImagePiece(url=url)


def _dimensions(encoded: str) -> tuple[int, int] | None:
    try:
        return dimensions(base64.b64decode(encoded[: len(encoded) // 4 * 4]))
    except binascii.Error:
        return None
