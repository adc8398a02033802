"""Tables with aligned columns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from worker.cli.render.console import Row, render_rows, styled, terminal_columns
from worker.cli.render.wrap import display_width, wrap_text

_GAP: Final = 2
_NARROWEST: Final = 16  # columns of the last cell beside the others; else it is below them
_BELOW: Final = 4  # blanks before it there
_UNBOUNDED: Final = 1_000_000


def format_table(rows: Iterable[Sequence[Row]], columns: int | None = None) -> list[Row]:
    """With `columns`, the last cell is wrapped below its beginning, or below the other cells if they leave no room."""
    rows = [tuple(row) for row in rows]
    if not rows or columns is None:
        return _grid(rows, _UNBOUNDED)
    *others, last = (max(map(display_width, cells)) for cells in zip(*rows, strict=True))
    if columns - sum(others) - _GAP * len(others) >= min(_NARROWEST, last):
        table = _grid(rows, columns)
        if max(map(display_width, table)) <= columns:
            return table
    heads = _grid([row[:-1] for row in rows], _UNBOUNDED)
    return [each for head, row in zip(heads, rows, strict=True) for each in _stacked(head, str(row[-1]), columns)]


def format_headed(rows: Iterable[Sequence[Row]], columns: int | None) -> list[Row]:
    """As `format_table`, with a heading as the first row."""
    heading, *others = format_table(rows, columns)
    return [styled(str(heading), "dim"), *others]


def format_choices(
    headings: tuple[str, ...], choices: Iterable[tuple[tuple[str, ...], str, str]], columns: int | None
) -> list[Row]:
    """Cells, purpose and origin of each: in a pipe without a heading, and with the origin as a column."""
    if columns is None:
        return format_table((*cells, origin, purpose) for cells, purpose, origin in choices)
    rows = ((*cells, f"{purpose} ({origin})".strip()) for cells, purpose, origin in choices)
    return format_headed([headings, *rows], columns)


def format_listing(
    rows: Iterable[tuple[str, ...]], paragraph: Callable[[tuple[str, ...], int], Iterable[Row]]
) -> list[Row]:
    """A table in a pipe, a paragraph of each row on a terminal."""
    columns = terminal_columns()
    return format_table(rows) if columns is None else [line for row in rows for line in paragraph(row, columns)]


def _grid(rows: Sequence[Sequence[Row]], columns: int) -> list[Row]:
    from rich.table import Table  # start-up time

    if not rows:
        return []
    table = Table.grid(padding=(0, _GAP, 0, 0))
    for _ in rows[0][1:]:
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return [*render_rows(table, columns)]


def _stacked(head: Row, last: str, columns: int) -> Iterator[Row]:
    further = 0 if str(head).startswith(" ") else _GAP
    yield from [head] if display_width(head) <= columns else wrap_text(str(head), columns, further)
    yield from (" " * _BELOW + row for row in wrap_text(last, columns - _BELOW) if last)
