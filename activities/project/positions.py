"""Where a field stands in a file of JSON with comments, so that an error can name its line."""

import re
from collections.abc import Sequence
from typing import Final

_TOKEN: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<mark>[{}\[\],])|(?P<word>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{}\[\],:"'/]+)""",
    re.DOTALL,
)

Place = tuple[str | int, ...]


def line(text: str, offset: int) -> int:
    """The number of the line that holds the character at `offset`, from 1."""
    return text.count("\n", 0, offset) + 1


def find(text: str, path: Sequence[str | int]) -> tuple[Place, int]:
    """The longest part of `path` that stands in `text`, and its line; what is no key or index is passed over."""
    offsets = _offsets(text)
    found: Place = ()
    for part in path:
        if (*found, part) in offsets:
            found = (*found, part)
    return found, line(text, offsets.get(found, 0))


def _offsets(text: str) -> dict[Place, int]:
    """Where each key and each item of an array begins."""
    walk = _Walk()
    for token in _TOKEN.finditer(text):
        if token["mark"]:
            walk.mark(token["mark"], token.start())
        elif token["word"]:
            walk.word(token["word"], token.start())
    return walk.offsets


class _Walk:
    """Goes through the tokens of a file: an open object is its current key (None before it), an array its index."""

    def __init__(self) -> None:
        self.offsets: dict[Place, int] = {}
        self._open: list[str | int | None] = []

    def mark(self, mark: str, offset: int) -> None:
        if mark in "{[":
            self._item(offset)
            self._open.append(None if mark == "{" else 0)
        elif mark in "}]":
            del self._open[-1:]
        elif self._open:
            last = self._open[-1]
            self._open[-1] = last + 1 if isinstance(last, int) else None

    def word(self, word: str, offset: int) -> None:
        if self._open and self._open[-1] is None:
            self._open[-1] = word.strip("\"'")
        self._item(offset)

    def _item(self, offset: int) -> None:
        self.offsets.setdefault(tuple(part for part in self._open if part is not None), offset)
