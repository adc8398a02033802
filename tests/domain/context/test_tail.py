"""The end of a text, within limits of lines and bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import Case, assert_matches, load, text
from workflows.domain.context.truncate import OutputLimits
from workflows.domain.context.truncate import tail as limited


def tail(text: str, lines: int, size: int) -> str:
    return limited(text, OutputLimits(max_lines=lines, max_bytes=size))


TEXTS = st.text(alphabet="ab\n\u00e9\u4e16\U0001f600", max_size=60)


@pytest.mark.parametrize("case", load("truncation", op="shell_tail"))
def test_the_tail_of_a_case(case: Case) -> None:
    asked = case.input
    found = tail(text(asked["text"]), asked["max_lines"], asked["max_bytes"])
    assert_matches({"text": found, "cut": found != text(asked["text"])}, case.expected)


@given(TEXTS, st.integers(1, 8), st.integers(4, 40))
def test_a_tail_is_the_end_of_its_text_within_both_limits(whole: str, lines: int, size: int) -> None:
    kept = tail(whole, lines, size)
    assert whole.endswith(kept)
    assert kept.count("\n") < lines
    assert len(kept.encode()) <= size


@given(TEXTS, st.integers(1, 8), st.integers(12, 40))
def test_a_tail_shows_something_of_a_text_that_has_something(whole: str, lines: int, size: int) -> None:
    last_lines = "".join(whole.split("\n")[-lines:])
    assert bool(tail(whole, lines, size).strip("\n")) == bool(last_lines)


def test_a_line_that_just_fits_is_kept() -> None:
    assert tail("d\nab\nc", 3, 4) == "ab\nc"


def test_a_last_line_that_is_too_long_is_cut_at_a_character() -> None:
    assert tail("x\n" + "\u4e16" * 10, 5, 10) == "\u4e16" * 3


def test_a_long_line_is_shown_though_a_newline_follows() -> None:
    assert tail("x" * 100 + "\n", 5, 10) == "x" * 9 + "\n"


def test_ten_million_lines_are_no_trouble() -> None:
    assert tail("a\n" * 10_000_000, 2_000, 51_200) == "a\n" * 1_999
