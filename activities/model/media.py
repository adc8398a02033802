"""Which pictures and documents a model is shown, and why not the rest."""

from typing import TypeAlias

from activities.files.file_type import PDF
from activities.files.image_size import MAX_PICTURE_CHARS, MAX_PICTURE_SIDE, encoded_dimensions
from activities.model.port import FilePiece, ImagePiece, ModelFacts
from workflows.domain.messages import FilePart, ToolPart, UserMessage
from workflows.domain.reminder_tags import escape_reminders

Selected: TypeAlias = tuple[list[ImagePiece | FilePiece], list[str]]


def select_attachments(call: ToolPart, facts: ModelFacts) -> Selected:
    """A call's attachments that the model can see, and why the others are left out."""
    attachments = call.outcome.attachments if call.outcome else ()
    return _select(call.id, [(str(each.get("mime")), str(each.get("url"))) for each in attachments], facts)


def select_embedded(prompt: UserMessage, facts: ModelFacts) -> Selected:
    """The same for files that a prompt contains: those that it only names are read by calls."""
    if prompt.without_files:
        return [], [_left_out(part) for part in prompt.embedded_files]
    return _select(prompt.id, [(part.mime, part.url) for part in prompt.embedded_files if not part.is_text], facts)


def _left_out(part: FilePart) -> str:
    name = escape_reminders(" ".join(f"{part.filename or 'a file'} ({part.mime})".split()))
    return f"{name} was left out to make room"


def _select(owner: str, media: list[tuple[str, str]], facts: ModelFacts) -> Selected:
    pieces: list[ImagePiece | FilePiece] = []
    reasons: list[str] = []
    for number, (mime, url) in enumerate(media, 1):
        piece = _piece(mime, url, f"{owner}-{number}", facts)
        if isinstance(piece, str):
            reasons.append(piece)
        else:
            pieces.append(piece)
    return pieces, reasons


def _piece(mime: str, url: str, name: str, facts: ModelFacts) -> ImagePiece | FilePiece | str:
    if mime == PDF:
        return FilePiece(name=f"{name}.pdf", url=url) if facts.documents else "this model cannot read PDF files"
    if not facts.images:
        return "this model cannot see pictures"
    content = url.partition(",")[2]
    size = encoded_dimensions(content)
    if size is None:
        return "it is no picture that can be shown"
    if max(size) > MAX_PICTURE_SIDE or len(content) > MAX_PICTURE_CHARS:
        return f"it is too large ({size[0]}×{size[1]} pixels, {len(content) * 3 // 4:,} bytes): make a smaller copy"
    return ImagePiece(url=url)
