"""Tables: columns as wide as they need to be, the last one as wide as it is."""

from collections.abc import Iterable, Sequence

import click

from worker.cli.look.text import width
from worker.cli.look.wrap import flowed

_GAP = "  "


def table(rows: Iterable[Sequence[str]], columns: int | None = None) -> list[str]:
    """The rows as lines with aligned columns; `columns` of a terminal let the last cell, a sentence, go on below."""
    rows = [tuple(row) for row in rows]
    widths = [max(width(click.unstyle(cell)) for cell in column) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    if columns is None:
        return lines
    return [flowed(each, columns, sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)) for each in lines]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (most - width(click.unstyle(cell))) for cell, most in zip(row, widths, strict=True))
    return _GAP.join(padded).rstrip()
