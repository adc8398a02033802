"""The text of an answer while it grows: what the model says and, where that is wanted, what it has thought."""

from collections.abc import Iterable
from typing import Final, Literal

Kind = Literal["text", "reasoning"]
_HEAD: Final = "Thinking: "


class Growth:
    """Puts the pieces of an answer together; thoughts are quoted, line by line, by `quote`."""

    def __init__(self, *, thinking: bool, quote: str) -> None:
        self._thinking = thinking
        self._quote = quote
        self._last: tuple[Kind, int] | None = None
        self._line_begins = True

    def more(self, kind: Kind, part: int, text: str) -> str:
        """What a piece adds to what is shown."""
        if not text or (kind == "reasoning" and not self._thinking):
            return ""
        gap = ""
        if self._last not in (None, (kind, part)):
            gap = "\n" if self._last == ("text", self._last[1]) and kind == "text" else "\n\n"
        begins, self._last = self._last != (kind, part), (kind, part)
        if kind == "text":
            return gap + text
        if begins:
            self._line_begins = True
            text = _HEAD + text
        return gap + self._quoted(text)

    def _quoted(self, text: str) -> str:
        """The lines of a thought behind the quote; blank ones end a block, so that it need not be drawn again."""
        lines = []
        for number, line in enumerate(text.split("\n")):
            begins = self._line_begins or number > 0
            lines.append(f"{self._quote}{line}" if begins and line else line)
            self._line_begins = begins and not line
        return "\n".join(lines)


def whole(parts: Iterable[tuple[Kind, str]], *, thinking: bool, quote: str) -> str:
    """A complete answer as it is shown: what its pieces come to."""
    growth = Growth(thinking=thinking, quote=quote)
    return "".join(growth.more(kind, number, text) for number, (kind, text) in enumerate(parts))
