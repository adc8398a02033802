"""Positions of fields in JSON with comments, for errors and for people."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<mark>[{}\[\],])|(?P<word>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{}\[\],:"'/]+)""",
    re.DOTALL,
)

_DEEPEST: Final = 200  # levels

JsonPath = tuple[str | int, ...]


class TextPosition(NamedTuple):
    """From 1; `column` in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class PlacedWord(NamedTuple):
    """A word that is no key, from `start` to `end` in the text."""

    path: JsonPath
    start: int
    end: int


START: Final = TextPosition(1, 1)


def position_at(text: str, offset: int, before: int = 0) -> TextPosition:
    """`before`: characters at the beginning that do not count."""
    text, offset = text[before:], max(offset - before, 0)
    return TextPosition(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def locate(text: str, path: Sequence[str | int]) -> tuple[JsonPath, int]:
    """The longest known part of `path`, and its offset; skips what is no key or index."""
    offsets = field_offsets(text)
    found: JsonPath = ()
    for part in path:
        if (*found, part) in offsets:
            found = (*found, part)
    return found, offsets.get(found, 0)


def field_offsets(text: str) -> dict[JsonPath, int]:
    """The offsets of keys and of list items."""
    return _walk(text).offsets


def duplicate_keys(text: str, before: int = 0) -> list[tuple[JsonPath, TextPosition]]:
    """Each with the position of the later one."""
    return [(path, position_at(text, offset, before)) for path, offset in _walk(text).duplicates]


def iter_words(text: str) -> Iterator[PlacedWord]:
    """The values that are no objects and lists, also of a text that is no JSON."""
    walk = _Walk()
    for token in _TOKEN.finditer(text):
        if walk.take(token):
            yield PlacedWord(walk.path, *token.span())


def is_too_deep(text: str) -> bool:
    """Whether paths in it would be so long that following them takes quadratic time."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token["mark"] or "", 0)
        if depth > _DEEPEST:
            return True
    return False


def _walk(text: str) -> "_Walk":
    """Knows nothing of a text that is too deep."""
    walk = _Walk()
    for token in () if is_too_deep(text) else _TOKEN.finditer(text):
        walk.take(token)
    return walk


class _Walk:
    """An open object is its current key (None before the first), an array its index."""

    def __init__(self) -> None:
        self.offsets: dict[JsonPath, int] = {}
        self.duplicates: list[tuple[JsonPath, int]] = []
        self._open: list[str | int | None] = []
        self._keys: list[set[str]] = []  # of each open object and array

    @property
    def path(self) -> JsonPath:
        return tuple(part for part in self._open if part is not None)

    def take(self, token: re.Match[str]) -> bool:
        """Whether it is a word that is no key."""
        if token["mark"]:
            self._mark(token["mark"], token.start())
        elif token["word"]:
            return self._word(token["word"], token.start())
        return False

    def _mark(self, mark: str, offset: int) -> None:
        if mark in "{[":
            self._item(offset)
            self._open.append(None if mark == "{" else 0)
            self._keys.append(set())
        elif mark in "}]":
            del self._open[-1:], self._keys[-1:]
        elif self._open:
            last = self._open[-1]
            self._open[-1] = last + 1 if isinstance(last, int) else None

    def _word(self, word: str, offset: int) -> bool:
        is_key = bool(self._open) and self._open[-1] is None
        if is_key:
            self._key(word.strip("\"'"), offset)
        self._item(offset)
        return not is_key

    def _key(self, key: str, offset: int) -> None:
        self._open[-1] = key
        if key in self._keys[-1]:
            self.duplicates.append((self.path, offset))
        self._keys[-1].add(key)

    def _item(self, offset: int) -> None:
        self.offsets.setdefault(self.path, offset)
