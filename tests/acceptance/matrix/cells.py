"""The cells of the fault matrix: what is killed, and when (reliability.md 5)."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final


class CellFault(StrEnum):
    """What is killed with SIGKILL."""

    WORKER = "worker"
    TEMPORAL = "temporal"
    POSTGRES = "postgres"
    ALL = "all"


class Point(StrEnum):
    """An observable moment, named by the letters of reliability.md 5."""

    STREAMING = "D"
    ANSWERED = "E-H"
    RUNNING = "I"
    WRITTEN = "J-K"
    WAITING = "F"
    DECIDED = "G"
    CHILD_WORKS = "L-works"
    CHILD_ASKS = "L-asks"
    RENEWING = "N"

    def answers_to(self, name: str) -> bool:
        """Whether `H`, `L` or `L-works` names this moment."""
        return name in (self.value, *self.split("-"))


@dataclass(frozen=True)
class Cell:
    """One combination; `key` names it in the page's template, the figures and the tests."""

    point: Point
    fault: CellFault

    @property
    def key(self) -> str:
        return f"{self.point}_{self.fault}".replace("-", "_")

    def __str__(self) -> str:
        return f"{self.point} {self.fault}"


CELLS: Final = tuple(Cell(point, fault) for point, fault in product(Point, CellFault))
