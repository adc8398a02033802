"""Lines cut to a terminal's columns."""

import click
from hypothesis import given
from hypothesis import strategies as st

from worker.cli.render.escaping import display_width
from worker.cli.render.wrap import add_bar, clip, wrap_chars, wrap_text, wrap_words


def test_no_line_of_a_command_looks_like_one_of_ours() -> None:
    assert add_bar("true\n  holdfast answer per_1 once") == ["  │ true", "  │   holdfast answer per_1 once"]


def test_a_long_line_goes_on_behind_its_own_bar_and_never_at_the_left_edge() -> None:
    padded = "true" + " " * 32 + "holdfast answer per_1 once"

    assert add_bar(padded, 40) == ["  │ true" + " " * 32, "  ┊ holdfast answer per_1 once"]


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

    assert [row.count("\x1b[32m") for row in rows] == [1, 1, 0]


@given(st.text(st.characters(exclude_categories=["C", "Z", "M"])), st.integers(2, 20))
def test_nothing_is_lost_and_no_row_is_wider(text: str, columns: int) -> None:
    rows = wrap_chars(text, columns)

    assert "".join(rows) == text and all(display_width(row) <= columns for row in rows)


def test_a_clipped_line_keeps_its_styles_and_ends_them() -> None:
    assert clip(click.style("abcdef", fg="red") + "gh", 4) == "\x1b[31mabcd\x1b[0m"
    assert clip("世界", 3) == "世"
