"""The cells of the fault matrix, and the seeded choices by which the trials of a cell differ (reliability.md 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from random import Random
from typing import Final, Self

from workflows.domain.value import Value

VARIANTS: Final = 12  # divisible by each moment's number of forms
_SHARE: Final = 0.25  # of the trials with a second worker


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
    COMPACTING = "M"
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

    def covers(self, plan: "TrialPlan") -> bool:
        return (plan.point, plan.fault) == (self.point, self.fault)

    def __str__(self) -> str:
        return f"{self.point} {self.fault}"


CELLS: Final = tuple(Cell(point, fault) for point, fault in product(Point, CellFault))


class TrialPlan(Value):
    """One trial. `fault` is None for the undisturbed run; `variant` selects the moment's form.

    `early`: the session leaves its moment while the killed parts are away, else when they are back. `supervisor`: where
    everything dies, the stack's supervisor dies too. `order` shuffles who dies first.
    """

    point: Point
    fault: CellFault | None = None
    seed: int = 0
    variant: int = 0
    early: bool = False
    supervisor: bool = False
    workers: int = 1
    order: int = 0

    @classmethod
    def draw(cls, cell: Cell, seed: int) -> Self:
        dice = Random(f"{cell.key} {seed}")
        return cls(
            point=cell.point,
            fault=cell.fault,
            seed=seed,
            variant=dice.randrange(VARIANTS),
            early=dice.random() < 0.5,
            supervisor=dice.random() < 0.5,
            workers=2 if dice.random() < _SHARE else 1,
            order=dice.randrange(1000),
        )

    @property
    def dice(self) -> Random:
        return Random(self.order)

    @property
    def again(self) -> str:
        return f'make faults ARGS="--point {self.point} --fault {self.fault} --seed {self.seed} --trials 1"'

    def undisturbed(self) -> Self:
        """The same plan without its fault."""
        return type(self)(point=self.point, variant=self.variant)

    def __str__(self) -> str:
        return f"{self.point} {self.fault} {self.seed}"


def spread(cells: Sequence[Cell], trials: int, seed: int) -> list[TrialPlan]:
    """Spread `trials` over the cells in turn; each cell's seeds begin with `seed`."""
    return [TrialPlan.draw(cells[number % len(cells)], seed + number // len(cells)) for number in range(trials)]
