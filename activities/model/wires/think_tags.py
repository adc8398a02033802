"""Reasoning in tags before an answer's text, as models write it and servers without a parser pass it on."""

from collections.abc import Iterator

from activities.model.chat_format import FIELD, THINK_END, THINK_TAG
from activities.model.port import PartDelta, ReasoningDelta, TextDelta


class ThinkTags:
    """Takes an answer's text piece by piece. Only tags at its very beginning count.

    `behind`: all that comes is text.
    """

    def __init__(self) -> None:
        self.behind = False
        self._within_tags = False
        self._space: list[str] = []  # before a tag, if one comes
        self._held = ""  # may be the beginning of a tag

    def feed(self, piece: str) -> Iterator[PartDelta]:
        if self.behind:
            yield TextDelta(piece)
            return
        text, self._held = self._held + piece, ""
        if not self._within_tags:
            begun = text.lstrip()
            self._space.append(text[: len(text) - len(begun)])
            if THINK_TAG.startswith(begun):
                self._held = begun
                return
            if not begun.startswith(THINK_TAG):
                self.behind = True
                yield TextDelta("".join(self._space) + begun)
                return
            self._within_tags, text = True, begun.removeprefix(THINK_TAG)
            yield ReasoningDelta("", {FIELD: THINK_TAG})
        yield from self._within(text)

    def _within(self, text: str) -> Iterator[PartDelta]:
        thought, end, rest = text.partition(THINK_END)
        if end:
            self.behind = True
        else:
            kept = next(size for size in range(len(THINK_END) - 1, -1, -1) if text.endswith(THINK_END[:size]))
            thought, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if thought:
            yield ReasoningDelta(thought)
        if rest:
            yield TextDelta(rest)

    def end(self) -> Iterator[PartDelta]:
        """The text that was held back, once no more of it can come."""
        held, self._held = self._held, ""
        if self._within_tags and held:
            yield ReasoningDelta(held)
        elif not self.behind and (text := "".join(self._space) + held):
            yield TextDelta(text)
