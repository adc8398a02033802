"""Lines fitted to the columns of a terminal: those of others cut in the middle of words, for nothing of them may be
moved or left out; our own sentences between words."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import click

from worker.cli.look.text import prose, width

_STYLES: Final = re.compile(r"(\x1b\[[\d;]*m)")
_WORD: Final = re.compile(r"( *)((?:`[^`]*`|[^ `]|`)+)")  # what stands in backquotes is to be copied, and stays whole
_NARROWEST: Final = 20
_LEAST: Final = 4  # of a row that goes on: blanks before it, and a character of two columns
_TAB: Final = 8
_BREAK: Final = "⏎"


def wrapped(line: str, columns: int) -> list[str]:
    """`line`, which has no styles, in rows of at most so many columns."""
    rows, row, taken = [], "", 0
    for character in line.expandtabs(_TAB):
        wide = width(character)
        if taken + wide > columns:
            rows.append(row)
            row, taken = "", 0
        row, taken = row + character, taken + wide
    return [*rows, row]


def flowed(text: str, columns: int, indent: int = 0) -> str:
    """Sentences of ours in rows of at most so many columns, but for a word that is longer; each row but the first
    begins `indent` blanks further than its line."""
    return "\n".join(row for each in text.split("\n") for row in _flowing(each, columns, indent))


def folded(text: str, columns: int | None, indent: int = 0) -> list[str]:
    """Sentences that hold words of others, without styles, in rows: as `flowed`, and a word that is longer than a row
    is cut, too: nothing goes on further left than it should. The lines as they are where no columns are to be kept to.
    """
    if columns is None:
        return text.split("\n")
    return [row for line in text.split("\n") for row in _folding(line, max(columns, _LEAST), indent)]


def _folding(line: str, columns: int, indent: int) -> Iterator[str]:
    lead = _lead(line, indent)[: columns // 2]
    for flowing in _flowing(line, columns, indent):
        row, *others = wrapped(flowing, columns)
        yield row
        while others:
            row, *others = wrapped(lead + "".join(others), columns)
            yield row


def _flowing(line: str, columns: int, indent: int) -> Iterator[str]:
    row, lead = "", _lead(line, indent)
    for blanks, word in _WORD.findall(line):
        if row.strip() and width(click.unstyle(row + blanks + word)) > columns:
            yield row
            row, blanks = lead, ""
        row += blanks + word
    yield row


def _lead(line: str, indent: int) -> str:
    """What the rows begin with that a line goes on in."""
    return " " * (len(line) - len(line.lstrip(" ")) + indent)


def boxed(text: str, columns: int | None = None, colour: Callable[[str], str | None] | None = None) -> list[str]:
    """The lines of `text` behind a bar: whatever they hold, none of them looks like a line of ours.

    With `columns`, a longer one goes on behind a bar of another kind, and not at the left edge. `colour` is asked for
    that of each line.
    """
    return [row for line in text.split("\n") for row in _barred(line, columns, colour(line) if colour else None)]


def clipped(line: str, columns: int) -> str:
    """A line, which may have styles, without what does not fit into so many columns."""
    if width(click.unstyle(line)) <= columns:
        return line
    kept, left = "", columns
    for piece in _STYLES.split(line):
        if not piece.startswith("\x1b"):
            piece = wrapped(piece, max(left, 0))[0] if left > 0 else ""
            left -= width(piece)
        kept += piece
    return kept


def ending(text: str, columns: int) -> str:
    """The end of a text that is being typed, on one row; what is not seen of it is marked."""
    shown = prose(text[-max(columns, 1) :].replace("\n", _BREAK).replace("\t", " "))
    if len(text) <= columns and width(shown) <= columns:
        return shown
    while shown and width(shown) >= columns:
        shown = shown[1:]
    return f"…{shown}"


def _barred(line: str, columns: int | None, colour: str | None) -> Iterator[str]:
    rows = [line] if columns is None else wrapped(line, max(columns - 4, _NARROWEST))
    for number, row in enumerate(rows):
        yield f"  {'┊' if number else '│'} {click.style(row, fg=colour) if colour else row}"
