"""A text file as bytes and as a string, so that what an edit does not touch stays byte for byte."""

from dataclasses import dataclass
from typing import Final

from workflows.domain.errors import ToolError

BOM: Final = "\ufeff"


@dataclass(frozen=True)
class Text:
    """The content without its byte order mark; bytes that are not UTF-8 are kept as lone surrogates."""

    content: str
    marked: bool = False

    @staticmethod
    def of(raw: bytes) -> "Text":
        content = raw.decode("utf-8", "surrogateescape")
        return Text(content.removeprefix(BOM), content.startswith(BOM))

    @property
    def ending(self) -> str:
        """The line ending: a file with any CRLF counts as CRLF (opencode.md 7.3)."""
        return "\r\n" if "\r\n" in self.content else "\n"

    def raw(self) -> bytes:
        content = BOM + self.content.removeprefix(BOM) if self.marked else self.content
        return content.encode("utf-8", "surrogateescape")


def checked(argument: str) -> str:
    """An argument that is to be written; ToolError when it holds a lone surrogate, which UTF-8 cannot hold."""
    if any("\ud800" <= character <= "\udfff" for character in argument):
        raise ToolError("The text holds a lone surrogate, which a UTF-8 file cannot hold: leave that character out.")
    return argument


def shown(raw: bytes) -> str:
    """The bytes as a person or a model reads them: what is not UTF-8 becomes U+FFFD."""
    return raw.decode("utf-8", "replace")
