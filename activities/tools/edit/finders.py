"""Eight ways to find a quoted passage in a text, from exact to forgiving (opencode.md 7.3); pure.

Each finder takes the text and the quote and gives the spans that it takes for the quote. The reference's ninth,
"every exact occurrence", is what the first one gives already.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, TypeAlias

from rapidfuzz.distance import Levenshtein

Span: TypeAlias = tuple[int, int]
Finder: TypeAlias = Callable[[str, str], Iterable[Span]]

_SIMILAR: Final = 0.65  # mean similarity of the middle lines of an anchored block
_ESCAPED: Final = re.compile(r"\\([ntr'\"`\\\n$])")
_MEANT: Final = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class _Lines:
    """A text line by line, with what is needed to get back from lines to spans."""

    text: str

    @cached_property
    def raw(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def trimmed(self) -> list[str]:
        return [line.strip() for line in self.raw]

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self.raw), initial=0))

    def span(self, first: int, count: int) -> Span:
        """Where `count` lines from line `first` on stand, without the line ending of the last."""
        last = first + count - 1
        return self._starts[first], self._starts[last] + len(self.raw[last].removesuffix("\r"))

    def blocks(self, count: int, may_begin: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
        """Each run of `count` lines that may begin so: its first line and its text."""
        for first in range(len(self.raw) - count + 1):
            if may_begin(self.raw[first]):
                yield first, "\n".join(self.raw[first : first + count])


def exact(text: str, quote: str) -> Iterator[Span]:
    """Every place where the quote stands as it is, overlapping ones too."""
    at = text.find(quote)
    while at >= 0:
        yield at, at + len(quote)
        at = text.find(quote, at + 1)


def line_trimmed(text: str, quote: str) -> Iterator[Span]:
    """Consecutive lines that are equal but for blanks at their ends."""
    lines, wanted = _Lines(text), _quoted_lines(quote)
    for first in range(len(lines.trimmed) - len(wanted) + 1):
        if lines.trimmed[first] == wanted[0] and lines.trimmed[first : first + len(wanted)] == wanted:
            yield lines.span(first, len(wanted))


def block_anchor(text: str, quote: str) -> list[Span]:
    """Blocks between the quote's first and last line whose middle is similar: the most similar one, or equals."""
    lines, wanted = _Lines(text), _quoted_lines(quote)
    if len(wanted) < 3:
        return []
    scored = [
        (_similarity(lines.trimmed[first : first + count], wanted), lines.span(first, count))
        for first, count in _anchored(lines.trimmed, wanted)
    ]
    best = max((score for score, _ in scored), default=0.0)
    return [span for score, span in scored if score == best >= _SIMILAR]


def whitespace_normalised(text: str, quote: str) -> Iterator[Span]:
    """A line, words inside a line, or a block of lines, equal when runs of white space count as one blank."""
    words = quote.split()
    if not words:
        return
    lines = _Lines(text)
    inside = re.compile(r"\s+".join(map(re.escape, words)))
    for first, line in enumerate(lines.raw):
        if line.split() == words:
            yield lines.span(first, 1)
        else:
            start, _ = lines.span(first, 1)
            yield from ((start + hit.start(), start + hit.end()) for hit in inside.finditer(line))
    count = quote.count("\n") + 1
    if count > 1:
        blocks = lines.blocks(count, _same_words(quote))
        yield from (lines.span(first, count) for first, block in blocks if block.split() == words)


def indentation_flexible(text: str, quote: str) -> Iterator[Span]:
    """A block that is equal once the indentation that its lines have in common is taken away."""
    lines, wanted, count = _Lines(text), _dedented(quote), quote.count("\n") + 1
    blocks = lines.blocks(count, _same_words(quote))
    return (lines.span(first, count) for first, block in blocks if _dedented(block) == wanted)


def escape_normalised(text: str, quote: str) -> Iterator[Span]:
    """The quote with its backslash escapes meant as what they stand for, on either side."""
    wanted = _unescaped(quote)
    yield from exact(text, wanted)
    lines, count = _Lines(text), wanted.count("\n") + 1
    blocks = lines.blocks(count, lambda line: wanted.startswith(_unescaped(line.removesuffix("\\"))))
    yield from (lines.span(first, count) for first, block in blocks if _unescaped(block) == wanted)


def trimmed_boundary(text: str, quote: str) -> Iterator[Span]:
    """The quote without the white space around it."""
    wanted = quote.strip()
    if wanted in ("", quote):
        return
    yield from exact(text, wanted)
    lines, count = _Lines(text), quote.count("\n") + 1
    blocks = lines.blocks(count, _same_words(quote))
    yield from (lines.span(first, count) for first, block in blocks if block.strip() == wanted)


def context_aware(text: str, quote: str) -> Iterator[Span]:
    """A block with the quote's first and last line and number of lines, of whose middle at least half is equal."""
    lines, wanted = _Lines(text), _quoted_lines(quote)
    if len(wanted) < 3:
        return
    for first, count in _anchored(lines.trimmed, wanted):
        if count == len(wanted) and _half_equal(lines.trimmed[first + 1 : first + count - 1], wanted[1:-1]):
            yield lines.span(first, count)


FINDERS: Final[tuple[Finder, ...]] = (
    exact,
    line_trimmed,
    block_anchor,
    whitespace_normalised,
    indentation_flexible,
    escape_normalised,
    trimmed_boundary,
    context_aware,
)


def _quoted_lines(quote: str) -> list[str]:
    """The trimmed lines of a quote; the line ending at its end begins no further line."""
    lines = [line.strip() for line in quote.split("\n")]
    return lines[:-1] if quote.endswith("\n") else lines


def _anchored(lines: list[str], wanted: list[str]) -> Iterator[tuple[int, int]]:
    """First line and length of each block that begins and ends as wanted and is about as long."""
    spare = max(1, len(wanted) // 4)
    for first in (at for at, line in enumerate(lines) if line == wanted[0]):
        for count in range(max(3, len(wanted) - spare), len(wanted) + spare + 1):
            if first + count <= len(lines) and lines[first + count - 1] == wanted[-1]:
                yield first, count


def _similarity(block: list[str], wanted: list[str]) -> float:
    """Mean similarity of the middle lines, pair by pair; a pair of blank lines counts nothing."""
    pairs = list(zip(block[1:-1], wanted[1:-1], strict=False))
    return sum(Levenshtein.normalized_similarity(*pair) for pair in pairs if any(pair)) / len(pairs)


def _half_equal(block: list[str], wanted: list[str]) -> bool:
    pairs = [pair for pair in zip(block, wanted, strict=True) if any(pair)]
    return 2 * sum(one == other for one, other in pairs) >= len(pairs)


def _same_words(quote: str) -> Callable[[str], bool]:
    """Whether a line may be the first one of the quote if only its white space differs: a quick look."""
    words = quote.split()
    return lambda line: (own := line.split()) == words[: len(own)]


def _dedented(block: str) -> list[str]:
    lines = block.split("\n")
    common = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[common:] if line.strip() else line for line in lines]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda escape: _MEANT.get(escape[1], escape[1]), text)
