"""Tables: columns as wide as they need to be, the last one as wide as it is."""

from collections.abc import Iterable, Sequence

from worker.cli.look.text import width

_GAP = "  "


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """The rows as lines with aligned columns."""
    rows = [tuple(row) for row in rows]
    widths = [max(width(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True))
    return _GAP.join(padded).rstrip()
