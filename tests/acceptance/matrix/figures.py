"""The figures of the fault matrix: what was counted in each cell, kept in the tree with where it was counted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from tests.acceptance.matrix.cells import Cell
from workflows.domain.value import Value

PATH: Final = Path(__file__).parents[2] / "data" / "faults.json"


class Figure(Value):
    """One cell: `recoveries` are seconds from the healed fault to the next progress, of the trials that passed."""

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


class Figures(Value):
    """All cells that were run, by key; `machine` says where, and with which versions."""

    machine: str = ""
    cells: Mapping[str, Figure] = {}

    @classmethod
    def read(cls) -> Self:
        return cls.model_validate_json(PATH.read_bytes()) if PATH.exists() else cls()

    def write(self) -> None:
        PATH.write_text(self.model_dump_json(indent=1) + "\n", "utf-8")

    def of(self, cell: Cell) -> Figure:
        return self.cells.get(cell.key, Figure())

    def total(self) -> Figure:
        """All cells as one."""
        counted = self.cells.values()
        return Figure(
            trials=sum(each.trials for each in counted),
            not_fired=sum(each.not_fired for each in counted),
            failed=sum(each.failed for each in counted),
            recoveries=tuple(seconds for each in counted for seconds in each.recoveries),
        )


def quantile(values: tuple[float, ...], share: float) -> float:
    """The smallest value that at least this share does not exceed; of none, nought."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 100) - 1)] if ordered else 0.0


def bound(figure: Figure) -> str:
    """What the trials say of the true rate of failures, at 95 % confidence: three in n, when none has failed."""
    counted = figure.trials - figure.not_fired
    if not counted or figure.failed:
        return f"{figure.failed} of {counted} failed"
    return f"below {3 / counted:.1%} at 95 % confidence (rule of three)" if counted > 3 else "too few to say more"
