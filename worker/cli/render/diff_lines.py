"""Diffs with line numbers, and their colours."""

import re
from collections.abc import Iterator
from typing import Final

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_HEADER: Final = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")
_GUTTER: Final = re.compile(r" *\d* ")


def number_diff_lines(diff: str) -> str:
    """Hunks with each line's number in the new file, or in the old one if it is removed."""
    rows = list(_numbers(diff.split("\n")))
    wide = max((len(str(number)) for number, _ in rows if number is not None), default=0)
    return "\n".join(f"{'' if number is None else number:>{wide}} {row}" for number, row in rows)


def diff_line_colour(row: str) -> str | None:
    gutter = _GUTTER.match(row)
    return _COLOURS.get(row[gutter.end() :][:1]) if gutter else None


def _numbers(rows: list[str]) -> Iterator[tuple[int | None, str]]:
    old = new = 0
    for row in rows:
        if header := _HEADER.match(row):
            old, gone, new, come = map(int, header.groups())
            old, new = old + (not gone), new + (not come)  # an empty range begins after the line that it names
        sign = row[:1]
        yield (old if sign == "-" else new if sign in ("+", " ") else None), row
        old += sign in ("-", " ")
        new += sign in ("+", " ")
