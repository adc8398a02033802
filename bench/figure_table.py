"""Figures, and their table with floor and budget."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

HEADER: Final = ("figure", "ours", "floor", "ratio", "must", "aim", "")


@dataclass(frozen=True)
class Budget:
    """The limit of a figure (design 12): a ratio to the floor or a value, upper or lower."""

    must: float
    aim: float
    ratio: bool = False
    at_least: bool = False

    def verdict(self, measured: float) -> str:
        """How a measured value compares, in a word or two."""
        if self._within(measured, self.aim):
            return "aim reached"
        if self._within(measured, self.must):
            return "within must"
        return "BELOW MUST" if self.at_least else "ABOVE MUST"

    def shown(self, limit: float) -> str:
        return f"{'≥' if self.at_least else '≤'} {limit:g}{'×' if self.ratio else ''}"

    def _within(self, measured: float, limit: float) -> bool:
        return measured >= limit if self.at_least else measured <= limit


@dataclass(frozen=True)
class Figure:
    """One measured number. `ratio` is given for paired rounds, else it follows from `ours` and `floor`."""

    name: str
    ours: float
    floor: float | None = None
    budget: Budget | None = None
    ratio: float | None = None
    digits: int = 1

    @property
    def quotient(self) -> float | None:
        if self.ratio is not None or not self.floor:
            return self.ratio
        return self.ours / self.floor

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        judged = self.quotient if self.budget.ratio else self.ours
        return self.budget.verdict(judged) if judged is not None else ""

    def cells(self) -> tuple[str, ...]:
        limits = (self.budget.shown(self.budget.must), self.budget.shown(self.budget.aim)) if self.budget else ("", "")
        quotient = f"{self.quotient:.2f}×" if self.quotient is not None else ""
        return (self.name, self._shown(self.ours), self._shown(self.floor), quotient, *limits, self.verdict)

    def _shown(self, value: float | None) -> str:
        return "" if value is None else f"{value:,.{self.digits}f}"


def table(figures: Iterable[Figure]) -> str:
    """Lines of aligned columns: names left, numbers right."""
    rows = [HEADER, *(figure.cells() for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *numbers, verdict = row
    middle = (cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True))
    return "  ".join((first.ljust(widths[0]), *middle, verdict)).rstrip()
