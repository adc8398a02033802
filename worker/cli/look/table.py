"""Tables: columns as wide as they need to be, the last one as wide as it is, or as a terminal has room for."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from worker.cli.look.text import width
from worker.cli.look.wrap import folded

_GAP: Final = "  "
_NARROWEST: Final = 16  # of the last column beside the others; else it stands below them
_BELOW: Final = 4  # blanks before it there


def table(rows: Iterable[Sequence[str]], columns: int | None = None) -> list[str]:
    """The rows as lines with aligned columns; `columns` of a terminal let the last cell, a sentence without styles, go
    on below its beginning, or below the others where these leave no room."""
    rows = [tuple(row) for row in rows]
    widths = [max(width(click.unstyle(cell)) for cell in column) for column in zip(*rows, strict=True)]
    if columns is None:
        return [_line(row, widths) for row in rows]
    return [line for row in rows for line in _fitted(row, widths, columns)]


def _fitted(row: Sequence[str], widths: Sequence[int], columns: int) -> Iterator[str]:
    *others, last = row
    lead = sum(widths[:-1]) + len(_GAP) * len(others)
    beside = columns - lead >= min(_NARROWEST, widths[-1])
    if not beside:
        yield _line(others, widths[:-1])
    if beside or last:
        before = " " * (lead if beside else _BELOW)
        first, *more = folded(last, columns - len(before))
        yield (_line([*others, first], widths) if beside else before + first)
        yield from (before + each for each in more)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (most - width(click.unstyle(cell))) for cell, most in zip(row, widths, strict=True))
    return _GAP.join(padded).rstrip()
