"""docs/faults.md: its template, the figures of the matrix, and the names of the tests."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Final, Self

from tests.acceptance.fault_counts import FaultCounts
from tests.acceptance.matrix.trial_plan import CELLS, Cell
from workflows.domain.value import Value

TEMPLATE: Final = Path(__file__).with_name("page.md")
PAGE: Final = Path(__file__).parents[3] / "docs" / "faults.md"
_TESTS: Final = Path(__file__).parents[2]
_NAMED: Final = re.compile(r"[_\"](row_\d\d|b\d\d)_")
_FIGURES: Final = _TESTS / "data" / "faults.json"
_COLUMNS: Final = 5  # trials, not fired, failed, median, p95


class MatrixResults(Value):
    """All played cells by key; `machine`: where, and with which versions."""

    machine: str = ""
    cells: Mapping[str, FaultCounts] = {}

    @classmethod
    def read(cls) -> Self:
        return cls.model_validate_json(_FIGURES.read_bytes()) if _FIGURES.exists() else cls()

    def write(self) -> None:
        _FIGURES.write_text(self.model_dump_json(indent=1) + "\n", "utf-8")

    def of(self, cell: Cell) -> FaultCounts:
        return self.cells.get(cell.key, FaultCounts())

    def total(self) -> FaultCounts:
        """The sum of all cells."""
        counted = self.cells.values()
        return FaultCounts(
            trials=sum(each.trials for each in counted),
            not_fired=sum(each.not_fired for each in counted),
            failed=sum(each.failed for each in counted),
            recoveries=tuple(seconds for each in counted for seconds in each.recoveries),
        )


def page() -> str:
    """The generated page."""
    figures = MatrixResults.read()
    values = {cell.key: _counted(cell, figures.of(cell)) for cell in CELLS}
    template = Template(TEMPLATE.read_text("utf-8"))
    return template.substitute(values, summary=_summary(figures), not_run=_not_run(figures), named="\n".join(_places()))


def tests_by_row() -> dict[str, list[str]]:
    """Rows and bugs in the names of tests, with their files."""
    found: dict[str, list[str]] = {}
    for path in sorted(_TESTS.rglob("test_*.py")):
        for name in sorted(set(_NAMED.findall(path.read_text("utf-8")))):
            found.setdefault(name, []).append(f"tests/{path.relative_to(_TESTS)}")
    return dict(sorted(found.items()))


def summary(figures: MatrixResults) -> str:
    """All cells in one line."""
    total = figures.total()
    return (
        f"{total.trials} trials, {total.failed} failed, {total.not_fired} not fired; "
        f"recovery median {total.median:.1f} s, p95 {total.p95:.1f} s; failure rate {total.bound}"
    )


def main() -> None:
    """Run as `python -P -m tests.acceptance.matrix.faults_page`."""
    PAGE.write_text(page(), "utf-8")


def _counted(cell: Cell, figure: FaultCounts) -> str:
    if not figure.trials:
        return " | ".join(["not run", *[""] * (_COLUMNS - 1)])
    seconds = (f"{figure.median:.1f} s", f"{figure.p95:.1f} s") if figure.recoveries else ("", "")
    return " | ".join([str(figure.trials), str(figure.not_fired), str(figure.failed), *seconds])


def _summary(figures: MatrixResults) -> str:
    return f"In all: {summary(figures)}. {figures.machine}" if figures.cells else "Nothing was counted yet."


def _not_run(figures: MatrixResults) -> str:
    return ", ".join(str(cell) for cell in CELLS if not figures.of(cell).trials) or "none"


def _places() -> Iterator[str]:
    yield "| name | tests |"
    yield "|---|---|"
    for name, files in tests_by_row().items():
        yield f"| `{name}` | {', '.join(f'`{file}`' for file in files)} |"


if __name__ == "__main__":
    main()
