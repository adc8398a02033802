"""The page of figures: only its table is written anew."""

from pathlib import Path

import pytest

from bench.figure_table import Budget, Figure
from bench.performance_page import BEGIN, END, PAGE, write

FIGURES = [
    Figure("steps per second", 12.5, 10.0, Budget(1.0, 1.2, ratio=True, at_least=True)),
    Figure("  of them quick", 1_000.0),
]
TABLE = """
| figure | ours | floor | ratio | must | aim |  |
|---|--:|--:|--:|--:|--:|---|
| steps per second | 12.5 | 10.0 | 1.25× | ≥ 1× | ≥ 1.2× | aim reached |
| – of them quick | 1,000.0 |  |  |  |  |  |

two cores

"""


def test_the_table_is_written_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Cost\n\n{BEGIN}old\n{END}\nMore.\n")
    write(page, FIGURES, "two cores")
    assert page.read_text() == f"# Cost\n\n{BEGIN}{TABLE}{END}\nMore.\n"


def test_some_figures_take_the_place_of_theirs(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Cost\n\n{BEGIN}old\n{END}\nMore.\n")
    write(page, FIGURES, "two cores")
    write(page, [Figure("steps per second", 13.0), Figure("seconds", 2.0)], "four cores", some=True)
    rows = ["| steps per second | 13.0 |  |  |  |  |  |", "| seconds | 2.0 |  |  |  |  |  |"]
    table = "\n".join([*TABLE.splitlines()[1:3], *rows])
    assert page.read_text() == f"# Cost\n\n{BEGIN}\n{table}\n\ntwo cores\n\n{END}\nMore.\n"


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Cost\n")
    with pytest.raises(ValueError, match="no place"):
        write(page, FIGURES, "two cores")
    assert page.read_text() == "# Cost\n"


def test_the_projects_page_has_the_marks() -> None:
    text = PAGE.read_text()
    assert (text.count(BEGIN), text.count(END)) == (1, 1) and text.index(BEGIN) < text.index(END)
