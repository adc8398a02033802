"""Tables."""

from collections.abc import Sequence

import pytest

from worker.cli.render.console import Row
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import display_width


def table(rows: Sequence[Sequence[Row]], columns: int | None = None) -> list[str]:
    return [str(row) for row in format_table(rows, columns)]


def test_columns_are_aligned_also_with_wide_letters() -> None:
    assert table([("a", "世界", "x"), ("long", "b", "")]) == ["a     世界  x", "long  b"]


def test_no_rows_make_no_lines() -> None:
    assert table([]) == []


def test_nothing_in_a_cell_is_read_as_markup_or_as_an_emoji_code() -> None:
    assert table([("[bold]a[/]", ":smile:")]) == table([("[bold]a[/]", ":smile:")], 80) == ["[bold]a[/]  :smile:"]


def test_a_last_cell_goes_on_below_its_beginning_or_below_the_others_without_room_and_nothing_is_wider() -> None:
    path = ("ok", "home", "/a/directory/with/a/long/name can be written to")

    assert table([path, ("ok", "x", "")], 24) == [
        "ok  home",
        "    /a/directory/with/a/",
        "    long/name can be",
        "    written to",
        "ok  x",
    ]
    assert table([path], 30) == [
        "ok  home  /a/directory/with/a/",
        "          long/name can be",
        "          written to",
    ]


@pytest.mark.parametrize("part", ["\u200d👩", "🏽", "\u093f"])
@pytest.mark.parametrize("place", [0, 1])
def test_no_row_is_wider_on_any_terminal(part: str, place: int) -> None:
    cells = ["ok", "ok"]
    cells[place] = "👩" + part * 30
    shown = table([("a", *cells), ("a", "x" * 12, "y" * 12)], 50)

    assert max(map(display_width, shown)) <= 50 and all(row.split(" ")[0] in ("a", "") for row in shown)


@pytest.mark.parametrize("columns", range(1, 9))
def test_a_table_is_shown_on_a_terminal_that_has_hardly_any_columns(columns: int) -> None:
    shown = table([("ok", "数字 abcdefgh")], columns)

    assert "".join("".join(shown).split()) == "ok数字abcdefgh"
