"""Positions of fields in JSON with comments, for line numbers in errors."""

import re
from collections.abc import Sequence
from typing import Final

_TOKEN: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<mark>[{}\[\],])|(?P<word>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{}\[\],:"'/]+)""",
    re.DOTALL,
)

JsonPath = tuple[str | int, ...]


def line_number(text: str, offset: int) -> int:
    """From 1."""
    return text.count("\n", 0, offset) + 1


def locate(text: str, path: Sequence[str | int]) -> tuple[JsonPath, int]:
    """The longest known part of `path`, and its line; skips what is no key or index."""
    offsets = _walk(text).offsets
    found: JsonPath = ()
    for part in path:
        if (*found, part) in offsets:
            found = (*found, part)
    return found, line_number(text, offsets.get(found, 0))


def duplicate_keys(text: str) -> list[tuple[JsonPath, int]]:
    """Each with the line of the later one."""
    return [(path, line_number(text, offset)) for path, offset in _walk(text).duplicates]


def _walk(text: str) -> "_Walk":
    walk = _Walk()
    for token in _TOKEN.finditer(text):
        if token["mark"]:
            walk.mark(token["mark"], token.start())
        elif token["word"]:
            walk.word(token["word"], token.start())
    return walk


class _Walk:
    """An open object is its current key (None before the first), an array its index."""

    def __init__(self) -> None:
        self.offsets: dict[JsonPath, int] = {}
        self.duplicates: list[tuple[JsonPath, int]] = []
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
            self.duplicates.append((tuple(part for part in self._open if part is not None), offset))
        self._keys[-1].add(key)

    def _item(self, offset: int) -> None:
        self.offsets.setdefault(tuple(part for part in self._open if part is not None), offset)
