"""The figures of the fault matrix: each cell's counts, in the tree with their machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from tests.acceptance.matrix.cells import Cell
from workflows.domain.value import Value

PATH: Final = Path(__file__).parents[2] / "data" / "faults.json"


class CellResult(Value):
    """One cell: `recoveries` are seconds from the healed fault to the next progress in passed trials."""

    trials: int = 0
    not_fired: int = 0
    failed: int = 0
    recoveries: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return quantile(self.recoveries, 0.5)

    @property
    def p95(self) -> float:
        return quantile(self.recoveries, 0.95)


class MatrixResults(Value):
    """All played cells by key; `machine`: where, and with which versions."""

    machine: str = ""
    cells: Mapping[str, CellResult] = {}

    @classmethod
    def read(cls) -> Self:
        return cls.model_validate_json(PATH.read_bytes()) if PATH.exists() else cls()

    def write(self) -> None:
        PATH.write_text(self.model_dump_json(indent=1) + "\n", "utf-8")

    def of(self, cell: Cell) -> CellResult:
        return self.cells.get(cell.key, CellResult())

    def total(self) -> CellResult:
        """The sum of all cells."""
        counted = self.cells.values()
        return CellResult(
            trials=sum(each.trials for each in counted),
            not_fired=sum(each.not_fired for each in counted),
            failed=sum(each.failed for each in counted),
            recoveries=tuple(seconds for each in counted for seconds in each.recoveries),
        )


def quantile(values: tuple[float, ...], share: float) -> float:
    """The smallest value that at least this share does not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 100) - 1)] if ordered else 0.0


def bound(figure: CellResult) -> str:
    """The upper bound of the true failure rate at 95 % confidence: three in n without failures."""
    counted = figure.trials - figure.not_fired
    if not counted or figure.failed:
        return f"{figure.failed} of {counted} failed"
    return f"below {3 / counted:.1%} at 95 % confidence (rule of three)" if counted > 3 else "too few to say more"
