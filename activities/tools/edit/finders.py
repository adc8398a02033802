"""Eight ways to find a quoted passage in a text, from exact to tolerant (opencode.md 7.3); pure.

Each returns the spans of the text that match the quote. OpenCode's ninth, "every exact occurrence", equals the first.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]
Finder: TypeAlias = Callable[[str, str], Iterable[Span]]

_MIN_SIMILARITY: Final = 0.65  # mean similarity of the middle lines of an anchored block
_ESCAPED: Final = re.compile(r"\\([ntr'\"`\\\n$])")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class _Lines:
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
        """The span of lines without the last line ending."""
        last = first + count - 1
        return self._starts[first], self._starts[last] + len(self.raw[last].removesuffix("\r"))

    def blocks(self, count: int, may_begin: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
        """First line's number, and text, of each block of `count` lines whose first line passes `may_begin`."""
        for first in range(len(self.raw) - count + 1):
            if may_begin(self.raw[first]):
                yield first, "\n".join(self.raw[first : first + count])


def exact(text: str, quote: str) -> Iterator[Span]:
    """Exact matches, also overlapping ones."""
    at = text.find(quote)
    while at >= 0:
        yield at, at + len(quote)
        at = text.find(quote, at + 1)


def line_trimmed(text: str, quote: str) -> Iterator[Span]:
    """Consecutive lines that are equal after trimming."""
    lines, wanted = _Lines(text), _trimmed_lines(quote)
    for first in range(len(lines.trimmed) - len(wanted) + 1):
        if lines.trimmed[first] == wanted[0] and lines.trimmed[first : first + len(wanted)] == wanted:
            yield lines.span(first, len(wanted))


def block_anchor(text: str, quote: str) -> list[Span]:
    """Blocks between the quote's first and last line with a similar middle: the most similar, or several equally so."""
    lines, wanted = _Lines(text), _trimmed_lines(quote)
    if len(wanted) < 3:
        return []
    scored = [
        (_similarity(lines.trimmed[first : first + count], wanted), lines.span(first, count))
        for first, count in _anchored_blocks(lines.trimmed, wanted)
    ]
    best = max((score for score, _ in scored), default=0.0)
    return [span for score, span in scored if score == best >= _MIN_SIMILARITY]


def whitespace_normalised(text: str, quote: str) -> Iterator[Span]:
    """A line, words within a line, or a block, equal when each run of white space counts as one blank."""
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
        blocks = lines.blocks(count, _may_begin_quote(quote))
        yield from (lines.span(first, count) for first, block in blocks if block.split() == words)


def indentation_flexible(text: str, quote: str) -> Iterator[Span]:
    """A block that is equal without its common indentation."""
    lines, wanted, count = _Lines(text), _dedent(quote), quote.count("\n") + 1
    blocks = lines.blocks(count, _may_begin_quote(quote))
    return (lines.span(first, count) for first, block in blocks if _dedent(block) == wanted)


def escape_normalised(text: str, quote: str) -> Iterator[Span]:
    """The quote with backslash escapes decoded, on either side."""
    wanted = _unescape(quote)
    yield from exact(text, wanted)
    lines, count = _Lines(text), wanted.count("\n") + 1
    blocks = lines.blocks(count, lambda line: wanted.startswith(_unescape(line.removesuffix("\\"))))
    yield from (lines.span(first, count) for first, block in blocks if _unescape(block) == wanted)


def trimmed_boundary(text: str, quote: str) -> Iterator[Span]:
    """The quote without surrounding white space."""
    wanted = quote.strip()
    if wanted in ("", quote):
        return
    yield from exact(text, wanted)
    lines, count = _Lines(text), quote.count("\n") + 1
    blocks = lines.blocks(count, _may_begin_quote(quote))
    yield from (lines.span(first, count) for first, block in blocks if block.strip() == wanted)


def context_aware(text: str, quote: str) -> Iterator[Span]:
    """A block with the quote's first and last line and line count, and at least half of the middle equal."""
    lines, wanted = _Lines(text), _trimmed_lines(quote)
    if len(wanted) < 3:
        return
    for first, count in _anchored_blocks(lines.trimmed, wanted):
        if count == len(wanted) and _at_least_half_equal(lines.trimmed[first + 1 : first + count - 1], wanted[1:-1]):
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


def _trimmed_lines(quote: str) -> list[str]:
    """A final line ending begins no further line."""
    lines = [line.strip() for line in quote.split("\n")]
    return lines[:-1] if quote.endswith("\n") else lines


def _anchored_blocks(lines: list[str], wanted: list[str]) -> Iterator[tuple[int, int]]:
    """First line and length of blocks between these lines, of about this length."""
    tolerance = max(1, len(wanted) // 4)
    for first in (at for at, line in enumerate(lines) if line == wanted[0]):
        for count in range(max(3, len(wanted) - tolerance), len(wanted) + tolerance + 1):
            if first + count <= len(lines) and lines[first + count - 1] == wanted[-1]:
                yield first, count


def _similarity(block: list[str], wanted: list[str]) -> float:
    """Ignores pairs of blank lines."""
    from rapidfuzz.distance import Levenshtein  # start-up time

    pairs = list(zip(block[1:-1], wanted[1:-1], strict=False))
    return sum(Levenshtein.normalized_similarity(*pair) for pair in pairs if any(pair)) / len(pairs)


def _at_least_half_equal(block: list[str], wanted: list[str]) -> bool:
    pairs = [pair for pair in zip(block, wanted, strict=True) if any(pair)]
    return 2 * sum(one == other for one, other in pairs) >= len(pairs)


def _may_begin_quote(quote: str) -> Callable[[str], bool]:
    words = quote.split()
    return lambda line: (own := line.split()) == words[: len(own)]


def _dedent(block: str) -> list[str]:
    lines = block.split("\n")
    common = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[common:] if line.strip() else line for line in lines]


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text)
