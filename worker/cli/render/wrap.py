"""Lines fitted to a terminal by rich: untrusted ones are cut anywhere, ours between words."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, chop_cells

from worker.cli.render.console import Row, joined, open_console, styled, terminal_columns

if TYPE_CHECKING:
    from rich.console import OverflowMethod
    from rich.text import Text

_COMMAND: Final = re.compile("`[^`]*`")  # for copying: it stays whole
_NARROWEST: Final = 20
_LEAST: Final = 4  # columns of a continuation row: blanks, and a character of two columns
_COLOUR: Final = "\N{VARIATION SELECTOR-16}"  # rich knows what it widens


def display_width(row: Row) -> int:
    """The most columns that a text takes on any terminal."""
    return cell_len(_apart(str(row)))


def wrap_for_stdout(text: str, indent: int = 0) -> str:
    return wrap_words(text, terminal_columns(), indent)


def wrap_chars(line: str, columns: int) -> list[str]:
    """Rows of at most `columns` columns, at least a character each; the text is unchanged, but for tabs."""
    text = line.expandtabs()
    apart = _apart(text)
    return _parts(text, apart, chop_cells(apart, max(columns, 1)) or [apart])


def wrap_words(text: str, columns: int | None, indent: int = 0) -> str:
    """Wrap our own sentences between words; a longer word stays whole. Continuation rows are `indent` further in."""
    if columns is None:
        return text
    return "\n".join(row for line in text.split("\n") for row in _wrap(line, columns, indent, "ignore"))


def wrap_text(text: str, columns: int | None, indent: int = 0) -> list[str]:
    """Like `wrap_words`, for untrusted words: cuts a word longer than a row, so that no row begins too far left. None
    columns: split into lines only."""
    if columns is None:
        return text.split("\n")
    return [row for line in text.split("\n") for row in _wrap(line, max(columns, _LEAST), indent, "fold")]


def _wrap(line: str, columns: int, indent: int, overflow: "OverflowMethod") -> Iterator[str]:
    line = line.expandtabs()
    if display_width(line) <= columns:
        yield line
        return
    words = line.strip(" ")
    lead = " " * min(len(line) - len(line.lstrip(" ")), columns // 2)
    further = " " * min(len(lead) + indent, columns // 2)
    first = _rows(words, columns - len(lead), overflow)[0]
    yield lead + first
    if left := words[len(first) :].lstrip(" "):
        yield from (further + row for row in _rows(left, columns - len(further), overflow))


def _rows(words: str, columns: int, overflow: "OverflowMethod") -> list[str]:
    apart = _COMMAND.sub(lambda found: found[0].replace(" ", "x"), _apart(words))
    text = styled(apart, "")
    text.overflow = overflow
    wrapped = (row.plain.strip(" ") for row in text.wrap(open_console(), columns))
    return _parts(words, apart, [row for row in wrapped if row] or [""])


def _apart(text: str) -> str:
    """Text of the same length for rich to measure.

    It measures joiners, skin tones and vowel signs as parts of what stands before them. Many terminals show them, or
    what they join, beside it: such a row would wrap, and could look like a line of ours.
    """
    if text.isascii():
        return text
    return "".join(each if cell_len(each) or unicodedata.combining(each) or each == _COLOUR else "世" for each in text)


def _parts(text: str, apart: str, rows: Iterable[str]) -> list[str]:
    """The parts of the text that stand where these rows do in its stand-in."""
    parts, at = [], 0
    for row in rows:
        begin = apart.index(row, at)
        at = begin + len(row)
        parts.append(text[begin:at])
    return parts


def add_bar(text: str, columns: int | None = None, colour: Callable[[str], str | None] | None = None) -> list[Row]:
    """Put a bar before each line, so that none looks like a line of ours.

    With `columns`, continuation rows have another bar.
    """
    rows: list[Row] = []
    for line in text.split("\n"):
        style = (colour(line) if colour else None) or ""
        for number, row in enumerate(wrap_chars(line, max(columns - 4, _NARROWEST)) if columns is not None else [line]):
            rows.append(joined(f"  {'┊' if number else '│'} ", styled(row, style)))
    return rows


def clip(row: Row, columns: int) -> "Text":
    text = joined(row)
    return text if display_width(text) <= columns else text[: len(wrap_chars(text.plain, columns)[0])]


def clip_start(text: str, columns: int) -> str:
    """The end of a text; a cut is marked."""
    return text if display_width(text) <= columns else f"…{wrap_chars(text[::-1], max(columns - 1, 1))[0][::-1]}"
