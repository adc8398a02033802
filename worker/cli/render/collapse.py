"""Long texts with their middle cut out; diffs with line numbers, and their colours."""

import re
from collections.abc import Iterator
from typing import Final

from worker.cli.render.formatting import pluralize
from workflows.domain.value import Value

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_HEADER: Final = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")
_GUTTER: Final = re.compile(r" *\d* ")


class CollapseLimit(Value):
    lines: int
    characters: int


COMMAND_LIMIT: Final = CollapseLimit(lines=30, characters=2000)
DIFF_LIMIT: Final = CollapseLimit(lines=60, characters=8000)
OUTPUT_LIMIT: Final = CollapseLimit(lines=10, characters=1200)


class CollapsedText(Value):
    """A text; `hidden`: what was cut from its middle."""

    text: str
    hidden: bool = False


def collapse(text: str, limit: CollapseLimit) -> CollapsedText:
    """Cut the middle of a text over the limit, and say how much is hidden."""
    lines, above = text.split("\n"), limit.lines * 2 // 3
    if len(lines) <= limit.lines and len(text) <= limit.characters:
        return CollapsedText(text=text)
    below = limit.lines - above if len(lines) > limit.lines else 0  # else only characters are left out
    head = "\n".join(lines[: above if below else None])[: limit.characters * 2 // 3]
    tail = "\n".join(lines[-below:])[-(limit.characters // 3) :]
    return CollapsedText(text=_join_around_hidden(text[len(head) : len(text) - len(tail)], head, tail), hidden=True)


def _join_around_hidden(hidden: str, head: str, tail: str) -> str:
    lines = hidden.count("\n")
    if lines > 1 and hidden[0] == hidden[-1] == "\n":
        left = pluralize(len(hidden) - 2, "character")
        return f"{head}\n[… {pluralize(lines - 1, 'line')} hidden, {left} …]\n{tail}"
    over = f" and {pluralize(lines, 'line break')}" if lines else ""
    return f"{head} [… {pluralize(len(hidden) - lines, 'character')}{over} hidden …] {tail}"


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
