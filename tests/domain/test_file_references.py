"""References in texts, and the lines that they name."""

import pytest

from tests.cases import Case, load
from workflows.domain.file_references import LineRange, find_references, parse_lines


@pytest.mark.parametrize("case", load("markdown_refs", op="file_references"))
def test_a_text_refers_to_what_opencode_finds(case: Case) -> None:
    found = find_references(case.input["text"])

    assert [reference.path for reference in found] == case.expected
    assert [case.input["text"][each.start : each.end] for each in found] == [f"@{each.path}" for each in found]


@pytest.mark.parametrize("text", ["@", "a @ b", "`@a.py`", "müller@example.com", "@,", ""])
def test_an_at_sign_alone_in_a_word_or_in_code_is_none(text: str) -> None:
    assert find_references(text) == []


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("a.py#L10-20", LineRange(path="a.py", first=10, last=20)),
        ("a.py#L10-L20", LineRange(path="a.py", first=10, last=20)),
        ("a.py#10-20", LineRange(path="a.py", first=10, last=20)),
        ("a.py#L7", LineRange(path="a.py", first=7, last=7)),
        ("a.py#L20-10", LineRange(path="a.py", first=10, last=20)),
        ("c#/a.py#L0", LineRange(path="c#/a.py", first=1, last=1)),
        ("a.py#top", None),
        ("a.py:10-20", None),
        ("a.py", None),
    ],
)
def test_a_reference_names_lines_behind_a_hash(written: str, lines: LineRange | None) -> None:
    assert parse_lines(written) == lines


def test_a_long_text_is_searched_at_once() -> None:
    text = "@." * 200_000 + "@" * 200_000

    assert len(find_references(text)) > 0
