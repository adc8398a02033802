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


def doubled(text: str) -> list[tuple[Place, int]]:
    """The keys that stand more than once in one object, each with the line of a later one."""
    return [(path, line(text, offset)) for path, offset in _walked(text).doubled]


def _offsets(text: str) -> dict[Place, int]:
    """Where each key and each item of an array begins."""
    return _walked(text).offsets


def _walked(text: str) -> "_Walk":
    walk = _Walk()
    for token in _TOKEN.finditer(text):
        if token["mark"]:
            walk.mark(token["mark"], token.start())
        elif token["word"]:
            walk.word(token["word"], token.start())
    return walk


class _Walk:
    """Goes through the tokens of a file: an open object is its current key (None before it), an array its index."""

    def __init__(self) -> None:
        self.offsets: dict[Place, int] = {}
        self.doubled: list[tuple[Place, int]] = []
        self._open: list[str | int | None] = []
        self._keys: list[set[str]] = []  # of each open object and array

    def mark(self, mark: str, offset: int) -> None:
        if mark in "{[":
            self._item(offset)
            self._open.append(None if mark == "{" else 0)
            self._keys.append(set())
        elif mark in "}]":
            del self._open[-1:], self._keys[-1:]
        elif self._open:
            last = self._open[-1]
            self._open[-1] = last + 1 if isinstance(last, int) else None

    def word(self, word: str, offset: int) -> None:
        if self._open and self._open[-1] is None:
            self._key(word.strip("\"'"), offset)
        self._item(offset)

    def _key(self, key: str, offset: int) -> None:
        self._open[-1] = key
        if key in self._keys[-1]:
            self.doubled.append((tuple(part for part in self._open if part is not None), offset))
        self._keys[-1].add(key)

    def _item(self, offset: int) -> None:
        self.offsets.setdefault(tuple(part for part in self._open if part is not None), offset)
