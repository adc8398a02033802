"""Media: a model gets what it can see, and a note about what is missing."""

import base64
import struct

import pytest

from activities.files.image_size import MAX_PICTURE_CHARS, MAX_PICTURE_SIDE
from activities.model.media import select_attachments
from activities.model.port import FilePiece, ImagePiece, ModelFacts
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState, Outcome, ToolPart

SEEING = ModelFacts(images=True, documents=True)


def png(width: int = 2, more: int = 0) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, 1) + b"\0" * more


def call(content: bytes, mime: str = "image/png") -> ToolPart:
    url = f"data:{mime};base64,{base64.b64encode(content).decode()}"
    outcome = Outcome(output="read", attachments=({"type": "file", "mime": mime, "url": url},))
    return ToolPart(
        id=PartId("prt_1"), provider_id="c1", tool="read", arguments={}, state=CallState.DONE, outcome=outcome
    )


def test_a_picture_and_a_document_are_shown() -> None:
    (picture,), _ = select_attachments(call(png()), SEEING)
    (document,), _ = select_attachments(call(b"%PDF-1.4", "application/pdf"), SEEING)
    assert isinstance(picture, ImagePiece) and picture.url.startswith("data:image/png;base64,iVBOR")
    assert isinstance(document, FilePiece) and document.url.startswith("data:application/pdf;base64,")


@pytest.mark.parametrize(
    ("part", "facts", "reason"),
    [
        (call(png()), ModelFacts(documents=True), "cannot see pictures"),
        (call(b"%PDF-1.4", "application/pdf"), ModelFacts(images=True), "cannot read PDF"),
        (call(b"text that only calls itself so"), SEEING, "no picture"),
        (call(png(width=MAX_PICTURE_SIDE + 1)), SEEING, "too large"),
        (call(png(more=MAX_PICTURE_CHARS)), SEEING, "too large"),
    ],
)
def test_media_that_a_provider_would_refuse_is_described_instead(
    part: ToolPart, facts: ModelFacts, reason: str
) -> None:
    pieces, reasons = select_attachments(part, facts)
    assert pieces == []
    assert reason in reasons[0]
