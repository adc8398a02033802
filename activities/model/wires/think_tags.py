"""Reasoning in tags before an answer's text, as models write it and servers without a parser pass it on."""

from collections.abc import Iterator
from enum import Enum, auto

from activities.model.chat_format import FIELD, THINK_END, THINK_TAG
from activities.model.port import PartDelta, ReasoningDelta, TextDelta


class _Place(Enum):
    BEFORE = auto()
    WITHIN = auto()
    BEHIND = auto()


class ThinkTags:
    """Takes an answer's text piece by piece. Only tags at its very beginning count."""

    def __init__(self) -> None:
        self._place = _Place.BEFORE
        self._held = ""  # may be the beginning of a tag

    @property
    def behind(self) -> bool:
        """Whether all that comes is text."""
        return self._place is _Place.BEHIND

    def feed(self, piece: str) -> Iterator[PartDelta]:
        if self._place is _Place.BEHIND:
            yield TextDelta(piece)
            return
        text, self._held = self._held + piece, ""
        if self._place is _Place.BEFORE:
            begun = text.lstrip()
            if THINK_TAG.startswith(begun):
                self._held = text
                return
            if not begun.startswith(THINK_TAG):
                self._place = _Place.BEHIND
                yield TextDelta(text)
                return
            self._place, text = _Place.WITHIN, begun.removeprefix(THINK_TAG)
            yield ReasoningDelta("", {FIELD: THINK_TAG})
        yield from self._within(text)

    def _within(self, text: str) -> Iterator[PartDelta]:
        thought, end, rest = text.partition(THINK_END)
        if end:
            self._place = _Place.BEHIND
        else:
            kept = next(size for size in range(len(THINK_END) - 1, -1, -1) if text.endswith(THINK_END[:size]))
            thought, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if thought:
            yield ReasoningDelta(thought)
        if rest:
            yield TextDelta(rest)

    def end(self) -> Iterator[PartDelta]:
        """What was held back, once no more text can complete it."""
        held, self._held = self._held, ""
        if held:
            yield ReasoningDelta(held) if self._place is _Place.WITHIN else TextDelta(held)
