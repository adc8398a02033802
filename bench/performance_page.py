"""The table of figures in docs/performance.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.figure_table import HEADER, Figure

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN: Final = '<!-- written by make bench ARGS="--write" -->\n'
END: Final = "<!-- so far -->\n"
_INDENT: Final = "  "  # of a figure that is a part of the one above


def write(page: Path, figures: Sequence[Figure], machine: str) -> None:
    """Replace the page's figures. Raises ValueError if their marks are missing."""
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{str(page)!r} has no place for figures: it stands between {BEGIN!r} and {END!r}.")
    page.write_text(f"{before}{BEGIN}\n{markdown(figures)}\n\n{machine}\n\n{END}{after}", "utf-8")


def markdown(figures: Sequence[Figure]) -> str:
    """The figures as a table; those over budget stand out."""
    lines = [_line(HEADER), "|---|" + "--:|" * (len(HEADER) - 2) + "---|"]
    return "\n".join([*lines, *(_line(_marked(figure)) for figure in figures)])


def _marked(figure: Figure) -> tuple[str, ...]:
    name, *numbers, verdict = figure.cells()
    if name.startswith(_INDENT):
        name = f"– {name.strip()}"
    return (name, *numbers, f"**{verdict.lower()}**" if verdict.isupper() else verdict)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
