"""Pictures and PDFs as results."""

import base64
from typing import NamedTuple

from pydantic import JsonValue

from activities.files.file_type import PDF
from activities.files.image_size import smaller_copy
from workflows.domain.errors import ToolError


class ShownMedia(NamedTuple):
    """`text`: what the model reads beside it."""

    text: str
    attachment: dict[str, JsonValue]


def show_media(content: bytes, media: str, origin: str, verb: str) -> ShownMedia:
    """A picture, or a smaller copy of it, or a PDF, that a tool has read or fetched. Blocks. Raises ToolError."""
    text = f"{'PDF' if media == PDF else 'Image'} {verb} successfully"
    try:
        copy = None if media == PDF else smaller_copy(content)
    except ValueError as problem:
        raise ToolError(f"{origin} cannot be shown: {problem}.") from problem
    if copy is not None:
        content, media, text = copy.content, copy.mime, f"{text}\n{copy.note}"
    url = f"data:{media};base64,{base64.b64encode(content).decode()}"
    return ShownMedia(text, {"type": "file", "mime": media, "url": url})
