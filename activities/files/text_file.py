"""A text file as bytes and string: an edit keeps all untouched bytes."""

import re
from dataclasses import dataclass
from typing import Final

from workflows.domain.errors import ToolError

BOM: Final = "\ufeff"


@dataclass(frozen=True)
class TextFile:
    """The content without its byte order mark; bytes that are not UTF-8 become lone surrogates."""

    content: str
    has_bom: bool = False

    @staticmethod
    def of(raw: bytes) -> "TextFile":
        content = raw.decode("utf-8", "surrogateescape")
        return TextFile(content.removeprefix(BOM), content.startswith(BOM))

    @property
    def line_ending(self) -> str:
        """CRLF for a file with any CRLF (opencode.md 7.3)."""
        return "\r\n" if "\r\n" in self.content else "\n"

    def encode(self) -> bytes:
        content = BOM + self.content.removeprefix(BOM) if self.has_bom else self.content
        return content.encode("utf-8", "surrogateescape")


def require_encodable(argument: str) -> str:
    """The argument; ToolError when it holds a lone surrogate, which UTF-8 cannot encode."""
    if re.search("[\ud800-\udfff]", argument):
        raise ToolError("The text holds a lone surrogate, which a UTF-8 file cannot hold: leave that character out.")
    return argument


def decode_lossy(raw: bytes) -> str:
    """What is not UTF-8 becomes U+FFFD."""
    return raw.decode("utf-8", "replace")
