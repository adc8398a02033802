"""Each finder forgives one kind of difference, and no other."""

import pytest

from activities.tools.edit import finders
from activities.tools.edit.finders import Finder


def found(finder: Finder, text: str, quote: str) -> list[str]:
    return [text[start:end] for start, end in finder(text, quote)]


@pytest.mark.parametrize(
    ("finder", "text", "quote", "passages"),
    [
        (finders.exact, "aaa", "aa", ["aa", "aa"]),
        (finders.exact, "a  b", "a b", []),
        (finders.line_trimmed, "  a\n\tb \nc\n", "a\nb\n", ["  a\n\tb "]),
        (finders.line_trimmed, "a\r\nb\r\n", " a\n b\n", ["a\r\nb"]),
        (finders.line_trimmed, "a b\n", "a  b", []),
        (finders.block_anchor, "{\n  one\n  two\n}\n", "{\n one\n tow\n}", ["{\n  one\n  two\n}"]),
        (finders.block_anchor, "{\n  one\n}\n", "{\n  something else\n}", []),
        (finders.block_anchor, "{\nabcd\n}\n{\nabce\n}\n", "{\nabcx\n}", ["{\nabcd\n}", "{\nabce\n}"]),
        (finders.block_anchor, "{\nabcd\n}\n{\nabxx\n}\n", "{\nabce\n}", ["{\nabcd\n}"]),
        (finders.block_anchor, "{\n\n}\n", "{\n \n}", []),
        (finders.block_anchor, "{\n}\n", "{\n}", []),
        (finders.whitespace_normalised, "x = (a,\tb)\n", "(a, b)", ["(a,\tb)"]),
        (finders.whitespace_normalised, "  a   b \n", "a b", ["  a   b "]),
        (finders.whitespace_normalised, "a  b\nc\n", "a b\nc", ["a  b\nc"]),
        (finders.whitespace_normalised, "a\n \n", "  ", []),
        (finders.indentation_flexible, "    if x:\n        y\n", "if x:\n    y", ["    if x:\n        y"]),
        (finders.indentation_flexible, "    if x:\n      y\n", "if x:\n    y", []),
        (finders.escape_normalised, 'say("hi")\n', 'say(\\"hi\\")', ['say("hi")']),
        (finders.escape_normalised, "a\\tb\n", "a\tb", ["a\\tb"]),
        (finders.trimmed_boundary, "  value\nother\n", "\nvalue\n", ["value"]),
        (finders.trimmed_boundary, "value", "value", []),
        (finders.trimmed_boundary, "value", "  \n ", []),
        (finders.context_aware, "{\na\nb\nc\n}\n", "{\na\nb\nx\n}", ["{\na\nb\nc\n}"]),
        (finders.context_aware, "{\na\nb\nc\n}\n", "{\na\nx\ny\n}", []),
        (finders.context_aware, "{\na\nb\n}\n", "{\na\n}", []),
    ],
)
def test_a_finder_finds(finder: Finder, text: str, quote: str, passages: list[str]) -> None:
    assert list(dict.fromkeys(found(finder, text, quote))) == list(dict.fromkeys(passages))


def test_from_exact_to_forgiving() -> None:
    assert finders.FINDERS[0] is finders.exact
    assert len(set(finders.FINDERS)) == 8
