"""Replaces a passage that may be quoted inexactly; pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from os.path import commonprefix
from typing import Final, TypeAlias

from workflows.domain.errors import ToolError

_NUMBERED: Final = re.compile(r"\d+: ")
_LINE_END: Final = re.compile(r"[ \t]*\r?\n")
_ESCAPED: Final = re.compile(r"\\([ntr'\"`\\\n$])")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_LIKENESS: Final = 0.65  # of the middle lines of a block between the quote's first and last line, in the mean
_LISTED: Final = 10  # line numbers in a message
_SHOWN: Final = (20, 300)  # lines of the file in a message, and characters of each
_ALIKE: Final = 80  # percent of a quote's longest line that its nearest passage has

_Span: TypeAlias = tuple[int, int]
_Edit: TypeAlias = tuple[_Span, str]


def substitute(content: str, old: str, new: str, *, replace_all: bool = False) -> tuple[str, str]:
    """The new text, and what the model has to know of it. The first finder with a match decides. Several matches are an
    error: editing the wrong one would go unnoticed. Messages hold lines of the file only after their first line."""
    for find in (_exact, _spaced, _unescaped, _anchored):
        if spans := list(islice(find(content, old), None if replace_all else 1000)):
            break
    else:
        raise ToolError(
            "Could not find oldString in the file. It must match exactly, including whitespace, indentation, "
            f"and line endings.{_nearest(content, old)}"
        )
    if len(spans) > 1 and not replace_all:
        raise ToolError(
            f"Found multiple matches for oldString: {len(spans)}, on {_list_lines(content, spans)}. "
            "Provide more surrounding context to make the match unique."
        )
    edits = [(span, new) if find is _exact else _fit(content, span, old, new) for span in spans]
    text = _replace(content, edits)
    if replace_all:
        return text, _count(content, old, edits)
    return text, "" if find is _exact else _difference(content, old, *edits[0], text)


def _exact(text: str, quote: str) -> Iterator[_Span]:
    """Also matches that overlap."""
    at = text.find(quote)
    while at >= 0:
        yield at, at + len(quote)
        at = text.find(quote, at + 1)


def _spaced(text: str, quote: str) -> Iterator[_Span]:
    """What is equal where each run of white space counts as one blank."""
    words = r"\s+".join(map(re.escape, quote.split()))
    return (hit.span() for hit in re.finditer(words, text)) if words else iter(())


def _unescaped(text: str, quote: str) -> Iterator[_Span]:
    """What the quote says with its backslash escapes decoded."""
    decoded = _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), quote)
    return _exact(text, decoded) if decoded != quote else iter(())


def _anchored(text: str, quote: str) -> Iterator[_Span]:
    """Blocks with the quote's first and last line, and a middle that is like its: the most like it."""
    from rapidfuzz.distance import Levenshtein  # start-up time

    wanted = [line.strip() for line in quote.removesuffix("\n").split("\n")]
    lines, blocks = text.split("\n"), dict[_Span, float]()
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for first in range(len(lines) - len(wanted) + 1 if len(wanted) > 2 else 0):
        if lines[first].strip() == wanted[0] and lines[first + len(wanted) - 1].strip() == wanted[-1]:
            pairs = [(lines[first + row].strip(), wanted[row]) for row in range(1, len(wanted) - 1)]
            likeness = sum(Levenshtein.normalized_similarity(*pair) for pair in pairs if any(pair)) / len(pairs)
            blocks[starts[first], starts[first + len(wanted)] - 1] = likeness
    best = max(blocks.values(), default=0.0)
    return (span for span, likeness in blocks.items() if likeness == best >= _LIKENESS)


def _fit(content: str, span: _Span, old: str, new: str) -> _Edit:
    """The edit at a place that differs from the quote: `new` is moved by what the quote's lines are off."""
    start, end = span
    line = content.rfind("\n", 0, start) + 1
    if old.endswith("\n") and (rest := _LINE_END.match(content, end)):
        end = rest.end()
    if content[line:start].strip():  # behind other text
        return (start, end), new.lstrip() if old[0].isspace() else new
    there, quoted, lines = (text.split("\n") for text in (content[line:end], old, new))
    pairs = [(_indent(one), _indent(other)) for one, other in zip(there, quoted, strict=False) if one.strip()]
    wanted, given = pairs[0] if pairs else ("", "")
    same = len(commonprefix((wanted[::-1], given[::-1])))
    lack, excess = wanted[: len(wanted) - same], given[: len(given) - same]
    moved = [lack + each.removeprefix(excess) if each.strip() else each for each in lines]
    if not given and all(one == other for one, other in pairs[1:]):  # it begins behind the indentation
        moved, is_clear = [moved[0], *lines[1:]], bool(pairs[1:]) or not lack
    else:
        is_clear = all(one == lack + other.removeprefix(excess) for one, other in pairs) and not (lack and excess)
    if len(there) != len(quoted) or not (is_clear or not "".join(lines[1:]).strip()):
        passage = _show(content, _row(content, line), content[line:end])
        raise ToolError(
            "oldString fits this passage only roughly, and it is not clear how newString has to be indented there. "
            f"Quote the passage as it stands:\n{passage}"
        )
    return (line, end), "\n".join(moved)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _replace(content: str, edits: Iterable[_Edit]) -> str:
    """Of overlapping edits, the first is made."""
    pieces, at = [], 0
    for (start, end), text in edits:
        if start >= at:
            pieces += [content[at:start], text]
            at = end
    return "".join([*pieces, content[at:]])


def _count(content: str, old: str, edits: Sequence[_Edit]) -> str:
    """How many copies were replaced, and what is left that is almost one; by the lines of the new text."""
    masked = _replace(content, ((span, "\0" + "\n" * new.count("\n")) for span, new in edits))
    made, left = list(_exact(masked, "\0")), list(_spaced(masked, old))
    note = f"Copies replaced: {len(made)}, on {_list_lines(masked, made)}."
    return f"{note} Not replaced, for small differences from oldString: {_list_lines(masked, left)}." if left else note


def _difference(content: str, old: str, span: _Span, new: str, text: str) -> str:
    found, row = content[slice(*span)], _row(content, span[0])
    if found.split() == old.split():
        return f"The passage differed from oldString in white space. Now it reads:\n{_show(text, row, new)}"
    return f"The passage differed from oldString. It was:\n{_show(content, row, found)}"


def _nearest(content: str, old: str) -> str:
    """The passage around the line that is most like the quote's longest one."""
    from rapidfuzz import fuzz, process  # start-up time

    quoted = [line.strip()[: _SHOWN[1]] for line in old.strip().split("\n")]
    if all(map(_NUMBERED.match, quoted)):
        return " Quote it without the line numbers of read."
    longest = max(quoted, key=len)
    lines = [line[: _SHOWN[1]] for line in content.split("\n")]
    long_enough = {row: line for row, line in enumerate(lines) if 100 * len(line.strip()) >= _ALIKE * len(longest) > 0}
    found = process.extractOne(longest, long_enough, scorer=fuzz.partial_ratio, score_cutoff=_ALIKE)
    if found is None:
        return ""
    return f" The nearest passage:\n{_show(content, max(found[2] - quoted.index(longest), 0), old.strip())}"


def _show(text: str, first: int, like: str) -> str:
    """Lines from `first`, which counts from 0, as many as `like` has, as `read` shows them."""
    count = like.removesuffix("\n").count("\n") + 1
    lines = text.split("\n")[first : first + min(count, _SHOWN[0])]
    numbered = [f"{number}: {line[: _SHOWN[1]].rstrip()}" for number, line in enumerate(lines, first + 1)]
    return "\n".join([*numbered, *["…"][: count - len(lines)]]).encode(errors="replace").decode()


def _list_lines(text: str, spans: Sequence[_Span]) -> str:
    numbers = dict.fromkeys(str(_row(text, start) + 1) for start, _ in spans[:_LISTED])
    return f"line{'s' * (len(numbers) > 1)} {', '.join(numbers)}{', …' * (len(spans) > _LISTED)}"


def _row(text: str, at: int) -> int:
    return text.count("\n", 0, at)
