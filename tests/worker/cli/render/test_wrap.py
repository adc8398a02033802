"""Lines cut to a terminal's columns."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from worker.cli.render.console import Row
from worker.cli.render.wrap import add_bar, clip, clip_start, display_width, wrap_chars, wrap_text, wrap_words


def shown(rows: Sequence[Row]) -> list[str]:
    return [str(row) for row in rows]


def test_no_line_of_a_command_looks_like_one_of_ours() -> None:
    assert shown(add_bar("true\n  holdfast answer per_1 once")) == ["  │ true", "  │   holdfast answer per_1 once"]


def test_a_long_line_goes_on_behind_its_own_bar_and_never_at_the_left_edge() -> None:
    padded = "true" + " " * 32 + "holdfast answer per_1 once"

    assert shown(add_bar(padded, 40)) == ["  │ true" + " " * 32, "  ┊ holdfast answer per_1 once"]


def test_a_sentence_of_ours_goes_on_between_words_and_a_command_in_it_stays_whole() -> None:
    said = "It failed: no such model, take it up again by `holdfast retry ses_1 -m a/b`."

    assert wrap_words(said, 40, 4).split("\n") == [
        "It failed: no such model, take it up",
        "    again by",
        "    `holdfast retry ses_1 -m a/b`.",
    ]
    assert wrap_words("  short\n\n" + "x" * 50, 40) == "  short\n\n" + "x" * 50


def test_words_of_others_in_a_sentence_of_ours_never_go_on_at_the_left_edge() -> None:
    assert wrap_text("  asks for " + "x" * 20 + " y", 14, 2) == ["  asks for", *["    " + "x" * 10] * 2, "    y"]
    assert wrap_text("a\nb", None) == ["a", "b"]


def test_every_row_of_a_line_has_its_colour() -> None:
    rows = add_bar("+" + "x" * 40 + "\nsame", 40, lambda line: "green" if line.startswith("+") else None)

    assert [[span.style for span in row.spans] for row in rows if isinstance(row, Text)] == [["green"], ["green"], []]


@given(st.text(st.characters(exclude_categories=["C", "Z", "M"])), st.integers(2, 20))
def test_nothing_is_lost_and_no_row_is_wider(text: str, columns: int) -> None:
    rows = wrap_chars(text, columns)

    assert "".join(rows) == text and all(display_width(row) <= columns for row in rows)


@pytest.mark.parametrize("columns", [0, 1])
def test_a_terminal_without_room_gets_a_character_in_each_row(columns: int) -> None:
    assert [row for row in wrap_chars("a世b", columns) if row] == ["a", "世", "b"]
    assert str(clip("ab", columns)) == "a"


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("ab", 2),
        ("世界", 4),
        ("e\u0301", 1),
        ("❤\ufe0f", 2),
        ("👩\u200d👩\u200d👧", 10),
        ("👍🏽", 4),
        ("हिन्दी", 7),
        ("\u1160", 2),
    ],
)
def test_a_text_is_as_wide_as_on_the_terminal_that_shows_it_widest(text: str, width: int) -> None:
    assert display_width(text) == width


@pytest.mark.parametrize("part", ["\u200d👩", "🏽", "\u093f", "\u1160"])
def test_what_some_terminals_show_as_one_letter_never_pushes_a_line_to_the_left_edge(part: str) -> None:
    rows = shown(add_bar("👩" + part * 30 + "holdfast answer per_1 once", 40))

    assert len(rows) > 1 and all(row.startswith(("  │ ", "  ┊ ")) and display_width(row) <= 40 for row in rows)
    assert "".join(row[4:] for row in rows) == "👩" + part * 30 + "holdfast answer per_1 once"


def test_a_cut_beginning_is_marked_and_nothing_is_wider() -> None:
    assert [clip_start(text, 4) for text in ("abc", "abcde", "世界世")] == ["abc", "…cde", "…世"]
