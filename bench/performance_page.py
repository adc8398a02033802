"""The table of figures in docs/performance.md."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from bench.figure_table import HEADER, Figure

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN: Final = '<!-- written by make bench ARGS="--write" -->\n'
END: Final = "<!-- so far -->\n"
_INDENT: Final = "  "  # of a figure that is a part of the one above
_PART: Final = "– "  # the same on the page


def write(page: Path, figures: Sequence[Figure], machine: str, *, some: bool = False) -> None:
    """Replace the page's figures; with `some`, only those of the same names, and add others, below the same machine.
    Raises ValueError if their marks are missing.
    """
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{str(page)!r} has no place for figures: it stands between {BEGIN!r} and {END!r}.")
    table, _, below = rest.partition(f"\n\n{END}")[0].strip().partition("\n\n")
    new = _merged(table, markdown(figures)) if some else markdown(figures)
    page.write_text(f"{before}{BEGIN}\n{new}\n\n{below if some else machine}\n\n{END}{after}", "utf-8")


def markdown(figures: Sequence[Figure]) -> str:
    """The figures as a table; those over budget stand out."""
    lines = [_line(HEADER), "|---|" + "--:|" * (len(HEADER) - 2) + "---|"]
    return "\n".join([*lines, *(_line(_marked(figure)) for figure in figures)])


def _merged(table: str, changed: str) -> str:
    """A figure's line with those of its parts, each in the place of the earlier ones."""
    head = table.splitlines()[:2]
    return "\n".join([*head, *chain.from_iterable((_blocks(table) | _blocks(changed)).values())])


def _blocks(table: str) -> dict[str, list[str]]:
    blocks: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in table.splitlines()[2:]:
        name = line.split(" | ")[0]
        if not name.startswith(f"| {_PART}"):
            lines = blocks[name] = []
        lines.append(line)
    return blocks


def _marked(figure: Figure) -> tuple[str, ...]:
    name, *numbers, verdict = figure.cells()
    if name.startswith(_INDENT):
        name = f"{_PART}{name.strip()}"
    return (name, *numbers, f"**{verdict.lower()}**" if verdict.isupper() else verdict)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
