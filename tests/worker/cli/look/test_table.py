"""Tables."""

from worker.cli.look.table import table


def test_columns_are_aligned_also_with_wide_letters() -> None:
    assert table([("a", "世界", "x"), ("long", "b", "")]) == ["a     世界  x", "long  b"]


def test_no_rows_make_no_lines() -> None:
    assert table([]) == []
