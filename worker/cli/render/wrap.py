"""Lines fitted to a terminal: untrusted ones are cut anywhere, ours between words."""

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Final

import click

from worker.cli.render.escaping import display_width

_STYLES: Final = re.compile(r"(\x1b\[[\d;]*m)")
_WORD: Final = re.compile(r"( *)((?:`[^`]*`|[^ `]|`)+)")  # text in backquotes is for copying, and stays whole
_NARROWEST: Final = 20
_LEAST: Final = 4  # columns of a continuation row: blanks, and a character of two columns
_TAB: Final = 8


def terminal_columns(*, err: bool = False) -> int | None:
    """The columns of standard output or error; None if it is no terminal: no wrapping."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else None


def wrap_for_stdout(text: str, indent: int = 0) -> str:
    return wrap_words(text, terminal_columns(), indent)


def wrap_chars(line: str, columns: int) -> list[str]:
    """Rows of at most `columns` columns; the text is unchanged. No styles."""
    rows, row, taken = [], "", 0
    for character in line.expandtabs(_TAB):
        wide = display_width(character)
        if taken + wide > columns:
            rows.append(row)
            row, taken = "", 0
        row, taken = row + character, taken + wide
    return [*rows, row]


def wrap_words(text: str, columns: int | None, indent: int = 0) -> str:
    """Wrap our own sentences between words; a longer word stays whole. Continuation rows are `indent` further in."""
    if columns is None:
        return text
    return "\n".join(row for each in text.split("\n") for row in _flowing(each, columns, indent))


def wrap_text(text: str, columns: int | None, indent: int = 0) -> list[str]:
    """Like `wrap_words`, for untrusted words without styles: cuts a word longer than a row, so that no row begins too
    far left. None columns: split into lines only."""
    if columns is None:
        return text.split("\n")
    return [row for line in text.split("\n") for row in _folding(line, max(columns, _LEAST), indent)]


def _folding(line: str, columns: int, indent: int) -> Iterator[str]:
    lead = _lead(line, indent)[: columns // 2]
    for flowing in _flowing(line, columns, indent):
        row, *others = wrap_chars(flowing, columns)
        yield row
        while others:
            row, *others = wrap_chars(lead + "".join(others), columns)
            yield row


def _flowing(line: str, columns: int, indent: int) -> Iterator[str]:
    row, lead = "", _lead(line, indent)
    for blanks, word in _WORD.findall(line):
        if row.strip() and display_width(click.unstyle(row + blanks + word)) > columns:
            yield row
            row, blanks = lead, ""
        row += blanks + word
    yield row


def _lead(line: str, indent: int) -> str:
    return " " * (len(line) - len(line.lstrip(" ")) + indent)


def add_bar(text: str, columns: int | None = None, colour: Callable[[str], str | None] | None = None) -> list[str]:
    """Put a bar before each line, so that none looks like a line of ours.

    With `columns`, continuation rows have another bar.
    """
    rows = []
    for line in text.split("\n"):
        fg = colour(line) if colour else None
        for number, row in enumerate(wrap_chars(line, max(columns - 4, _NARROWEST)) if columns is not None else [line]):
            rows.append(f"  {'┊' if number else '│'} {click.style(row, fg=fg) if fg else row}")
    return rows


def clip(line: str, columns: int) -> str:
    """Cut a line, which may have styles, to `columns`."""
    if display_width(click.unstyle(line)) <= columns:
        return line
    kept, left = "", columns
    for piece in _STYLES.split(line):
        if not piece.startswith("\x1b"):
            piece = wrap_chars(piece, max(left, 0))[0] if left > 0 else ""
            left -= display_width(piece)
        kept += piece
    return kept


def clip_start(text: str, columns: int) -> str:
    """The end of a text, without styles; a cut is marked."""
    shown = text[-max(columns, 1) :]
    if display_width(text) <= columns:
        return text
    while shown and display_width(shown) >= columns:
        shown = shown[1:]
    return f"…{shown}"
