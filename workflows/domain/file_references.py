"""References in a text: `@src/a.py`, `@docs/`, `@~/notes.md`, `@explore` (opencode.md 4.6)."""

import re
from typing import Final

from workflows.domain.value import Value

# Of scripts that write no blanks between words, or none behind a name: Thai to Khmer, kana, Han, Hangul.
WITHOUT_BLANKS: Final = r"\u0e00-\u109f\u1780-\u17ff\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
# Not in a word or in code: `user@example.com` is none. A full stop or comma after it is the sentence's.
_REFERENCE: Final = re.compile(rf"(?:(?<![\w`])|(?<=[{WITHOUT_BLANKS}]))@(\.?(?:[^\s`,.]|\.(?=[^\s`,.]))*)")
_LINES: Final = re.compile(r"(?P<path>.+)#L?(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?", re.DOTALL)
SENTENCE_ENDS: Final = "?!:;)]}>\"'"  # may be a sentence's, or of brackets around the reference


class FileReference(Value):
    """What follows an `@`; `start` and `end`: its place in the text, with the `@`. It may be no file at all."""

    path: str
    start: int
    end: int


class LineRange(Value):
    """Lines of a file, from 1, with the last."""

    path: str
    first: int
    last: int


def find_references(text: str) -> list[FileReference]:
    """All references in a text, in order."""
    found = (FileReference(path=hit[1], start=hit.start(), end=hit.end()) for hit in _REFERENCE.finditer(text))
    return [reference for reference in found if reference.path]


def parse_lines(path: str) -> LineRange | None:
    """`a.py#L10-20` and `a.py#10`, as editors write them; None: it names no lines."""
    hit = _LINES.fullmatch(path)
    if hit is None:
        return None
    first = max(int(hit["first"]), 1)
    last = int(hit["last"]) if hit["last"] else first
    return LineRange(path=hit["path"], first=min(first, max(last, 1)), last=max(first, last))
