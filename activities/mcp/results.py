"""What a server's answer is to a model (opencode.md 10)."""

import json
from typing import Final

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import JsonValue

from activities.tools.tool import Output

_SHOWN_TYPES: Final = frozenset(
    ("application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp")
)  # that models can be shown
_MAX_ATTACHMENT: Final = 10 * 1024 * 1024  # bytes (opencode.md 10)


def read_result(title: str, result: CallToolResult) -> Output:
    """The texts, then what of the rest cannot be shown; pictures and documents as attachments."""
    texts, attachments = list[str](), list[dict[str, JsonValue]]()
    for part in result.content:
        match part:
            case TextContent(text=text):
                texts.append(text)
            case EmbeddedResource(resource=TextResourceContents(text=text)):
                texts.append(text)
            case ImageContent(data=data, mime_type=mime) | AudioContent(data=data, mime_type=mime):
                _attach(attachments, texts, mime, data)
            case EmbeddedResource(resource=BlobResourceContents(blob=data, mime_type=mime, uri=uri)):
                _attach(attachments, texts, mime or "application/octet-stream", data, str(uri))
            case ResourceLink(uri=uri, name=name):
                texts.append(f"[A resource: {name}, {uri}]")
    if not texts and not attachments and result.structured_content is not None:
        texts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=2))
    return Output(title=title, output="\n\n".join(texts), attachments=tuple(attachments))


def _attach(
    attachments: list[dict[str, JsonValue]], texts: list[str], mime: str, data: str, name: str | None = None
) -> None:
    size = len(data) * 3 // 4
    if mime in _SHOWN_TYPES and size <= _MAX_ATTACHMENT:
        attachments.append({"type": "file", "mime": mime, "url": f"data:{mime};base64,{data}"})
    else:
        why = "too large" if mime in _SHOWN_TYPES else "not a type that models are shown"
        texts.append(f"[Left out: {name or mime}, {size:,} bytes of {mime}, {why}.]")
