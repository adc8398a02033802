"""Diffs with numbered lines."""

import pytest

from activities.files.diff import unified_diff
from worker.cli.render.ask_preview import strip_diff_header
from worker.cli.render.collapse import diff_line_colour, number_diff_lines


def lines(*texts: str) -> str:
    return "".join(f"{text}\n" for text in texts)


def shown(before: str, after: str) -> list[str]:
    return number_diff_lines(strip_diff_header(unified_diff("a", before, after))).split("\n")


def test_each_line_has_its_number_in_the_new_file_and_one_that_goes_that_in_the_old() -> None:
    before = [f"line {number}" for number in range(1, 21)]
    after = [*before[:1], "more", *before[1:11], "other", *before[12:]]

    rows = shown(lines(*before), lines(*after))

    assert [row for row in rows if row[3:4] in ("+", "-") or "line 20" in row] == [
        " 2 +more",
        "12 -line 12",
        "13 +other",
    ]
    assert " 1  line 1" in rows and "13  line 12" not in rows and "14  line 13" in rows
    assert [row for row in rows if "@@" in row] == ["   @@ -1,4 +1,5 @@", "   @@ -9,7 +10,7 @@"]


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("", "a\nb\n", ["  @@ -0,0 +1,2 @@", "1 +a", "2 +b"]),
        ("a\n", "", ["  @@ -1,1 +0,0 @@", "1 -a"]),
        ("a", "a\n", ["  @@ -1,1 +1,1 @@", "1 -a", "  \\ No newline at end of file", "1 +a"]),
    ],
)
def test_files_that_come_and_go_are_numbered_from_1(before: str, after: str, rows: list[str]) -> None:
    assert shown(before, after) == rows


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("12 +a", "green"),
        (" 2 -a", "red"),
        ("   @@ -1 +1 @@", "cyan"),
        ("12  +a", None),
        ("12  12 +a", None),
        (" 2  -", None),
        ("12 ", None),
        ("", None),
    ],
)
def test_what_a_line_does_gives_it_its_colour_and_not_what_it_holds(row: str, expected: str | None) -> None:
    assert diff_line_colour(row) == expected
