"""Tables."""

import pytest

from worker.cli.render.text_table import format_table


def test_columns_are_aligned_also_with_wide_letters() -> None:
    assert format_table([("a", "世界", "x"), ("long", "b", "")]) == ["a     世界  x", "long  b"]


def test_no_rows_make_no_lines() -> None:
    assert format_table([]) == []


def test_a_last_cell_goes_on_below_its_beginning_or_below_the_others_without_room_and_nothing_is_wider() -> None:
    path = ("ok", "home", "/a/directory/with/a/long/name can be written to")

    assert format_table([path, ("ok", "x", "")], 24) == [
        "ok  home",
        "    /a/directory/with/a/",
        "    long/name",
        "    can be written to",
        "ok  x",
    ]
    assert format_table([path], 30) == [
        "ok  home  /a/directory/with/a/",
        "          long/name",
        "          can be written to",
    ]


@pytest.mark.parametrize("columns", range(1, 9))
def test_a_table_is_shown_on_a_terminal_that_has_hardly_any_columns(columns: int) -> None:
    shown = format_table([("ok", "数字 abcdefgh")], columns)

    assert "".join("".join(shown).split()) == "ok数字abcdefgh"
