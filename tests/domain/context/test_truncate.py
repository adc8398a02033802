"""Whole lines are kept, within both limits, from either end."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import cases
from workflows.domain.context.truncate import OutputLimits, excerpt, truncate

NAMES = {"maxLines": "max_lines", "maxBytes": "max_bytes"}


@pytest.mark.parametrize("case", cases.load("truncation", op="truncate"))
def test_a_text_is_truncated_as_opencode_does(case: cases.Case) -> None:
    text, options = cases.text(case.input["text"]), dict(case.input["options"])
    if options.pop("direction", "head") == "tail":
        assert "both ends" in case.fields["holdfast"]
        return
    cut = truncate(text, OutputLimits(**{NAMES[name]: value for name, value in options.items()}))
    position = None if cut is None else "after" if cut.with_message("").startswith(cut.kept + "\n\n...") else "before"
    actual = {"truncated": cut is not None, "kept": text if cut is None else cut.kept, "marker_position": position}
    cases.assert_matches(actual | {"marker": cut and cut.marker}, case.expected)


def test_what_just_fits_is_kept() -> None:
    assert truncate("ab\ncd", OutputLimits(max_lines=2, max_bytes=5)) is None
    cut = truncate("ab\nc\nd", OutputLimits(max_lines=3, max_bytes=4))
    assert cut is not None and (cut.kept, cut.marker) == ("ab\nc", "...2 bytes truncated...")


@given(st.text(alphabet="aé\n", max_size=80), st.integers(1, 10), st.integers(1, 40))
def test_what_is_kept_fits_and_is_the_beginning_of_the_text(text: str, lines: int, size: int) -> None:
    cut = truncate(text, OutputLimits(max_lines=lines, max_bytes=size))
    kept = text if cut is None else cut.kept
    assert kept.count("\n") < lines
    assert len(kept.encode()) <= size
    assert text.startswith(kept)


@given(st.text(alphabet="aé\n", max_size=80), st.integers(1, 10), st.integers(4, 40))
def test_an_excerpt_is_beginning_and_end_and_says_which_lines(text: str, lines: int, size: int) -> None:
    shown = excerpt(text, OutputLimits(max_lines=lines, max_bytes=size))
    if shown.part is None:
        assert shown.text == text
        return
    found = re.fullmatch(r"(?:(.*)\n\n\.\.\.(?: (\d+) lines left out \.\.\.)?\n\n)?(.*)", shown.text, re.DOTALL)
    assert found is not None
    head, left_out, end = found.groups()
    begun = 0 if head is None else head.count("\n") + 1
    first, total = text.count("\n") - end.count("\n") + 1, len(text.removesuffix("\n").split("\n"))
    assert text.startswith(head or "") and text.endswith(end)
    assert begun + end.count("\n") < lines and len(f"{head or ''}{end}".encode()) <= size
    assert shown.part == f"lines {f'1-{begun} and ' if begun else ''}{first}-{total} of {total}"
    assert int(left_out or 0) == (max(first - 1 - begun, 0) if begun else 0)
