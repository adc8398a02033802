"""The text of a growing answer, escaped, with its reasoning if wanted."""

from collections.abc import Iterable
from typing import Final, Literal

from worker.cli.render.escaping import GrowingProse

AnswerKind = Literal["text", "reasoning"]
_HEAD: Final = "Thinking: "


class StreamedAnswer:
    """Joins the pieces of an answer; each line of reasoning begins with `quote`."""

    def __init__(self, *, thinking: bool, quote: str) -> None:
        self._thinking = thinking
        self._quote = quote
        self._last: tuple[AnswerKind, int] | None = None
        self._line_begins = True
        self._prose = GrowingProse()

    def append(self, kind: AnswerKind, part: int, text: str) -> str:
        if kind == "reasoning" and not self._thinking:
            return ""
        if self._last != (kind, part):
            self._prose = GrowingProse()
        if not (text := self._prose.append(text)):
            return ""
        gap = ""
        if self._last not in (None, (kind, part)):
            gap = "\n\n"
        begins, self._last = self._last != (kind, part), (kind, part)
        if kind == "text":
            return gap + text
        if begins:
            self._line_begins = True
            text = _HEAD + text
        return gap + self._quoted(text)

    def _quoted(self, text: str) -> str:
        """Blank lines stay: they end a Markdown block, which need not be redrawn."""
        lines = []
        for number, line in enumerate(text.split("\n")):
            begins = self._line_begins or number > 0
            lines.append(f"{self._quote}{line}" if begins and line else line)
            self._line_begins = begins and not line
        return "\n".join(lines)


def render_answer(parts: Iterable[tuple[AnswerKind, str]], answer: StreamedAnswer) -> str:
    """A complete answer as its pieces would have shown it; `answer` is new."""
    return "".join(answer.append(kind, number, text) for number, (kind, text) in enumerate(parts))
